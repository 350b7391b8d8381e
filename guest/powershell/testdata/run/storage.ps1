# what csi-proxy runs
ConvertTo-Json @(Get-Disk | select Number, Location)
ConvertTo-Json @(Get-Disk | Select Path, SerialNumber)
Update-HostStorageCache
$Env:volumeID = '\\?\Volume{00000000-0000-0000-0000-000000000043}\'
$Env:drivepath = 'c'
(Get-Partition -DriveLetter $Env:drivepath | Get-Volume).UniqueId
(Get-Volume -UniqueId "$Env:volumeID" | Select SizeRemaining,Size) | ConvertTo-Json
(Get-Volume -UniqueId "$Env:volumeID" -ErrorAction Stop).FileSystemType
(Get-Volume -UniqueId "$Env:volumeID" | Get-partition).Size
(Get-Volume -UniqueId "$Env:volumeID" | Get-Partition).DiskNumber
Get-Partition | Where DiskNumber -eq 0 | Where Type -ne Reserved
# the same for people
Get-Volume
Get-Partition
(Get-Volume D, c).DriveLetter
(Get-Volume -FileSystemLabel data).FileSystem
Get-Disk 0 -ErrorAction SilentlyContinue
try { Get-Disk 0 } catch { "caught: $_" }
(Get-Disk -Number 0).Size
"size: $((Get-Disk -Number 7).Size)"
Get-Disk -SerialNumber s; Get-Disk -FriendlyName f; Get-Disk -UniqueId u
Get-Volume -DriveLetter Z
Get-Partition -DiskNumber 0; Get-Partition -PartitionNumber 1
Get-Volume -UniqueId '\\?\Volume{0}\'
(Get-Disk -Number 7) | Select-Object -ExpandProperty IsOffline
