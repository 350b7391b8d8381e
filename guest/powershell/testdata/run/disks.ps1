# what csi-proxy runs
ConvertTo-Json @(Get-Disk | select Number, Location)
ConvertTo-Json @(Get-Disk | Select Path, SerialNumber)
Get-Disk -Number 1 | Where partitionstyle -eq 'raw'
Initialize-Disk -Number 1 -PartitionStyle GPT
Get-Disk -Number 1 | Where partitionstyle -eq 'raw'
Get-Partition | Where DiskNumber -eq 1 | Where Type -ne Reserved
New-Partition -DiskNumber 1 -UseMaximumSize
(Get-Disk -Number 2).Size
(Get-Disk -Number 1) | Set-Disk -IsOffline $true
(Get-Disk -Number 1) | Select-Object -ExpandProperty IsOffline
(Get-Disk -Number 1) | Set-Disk -IsOffline $false
(Get-Disk -Number 2 | Get-Partition | Get-Volume).UniqueId
(Get-Disk -Number 2 | Get-Partition -PartitionNumber 2 | Get-Volume).UniqueId
$Env:volumeID = '\\?\Volume{00000000-0000-0000-0000-000000000022}\'
Get-Volume -UniqueId "$Env:volumeID" | Format-Volume -FileSystem ntfs -Confirm:$false
(Get-Volume -UniqueId "$Env:volumeID" | Get-partition).Size
Get-Volume -UniqueId "$Env:volumeID" | Get-partition | Get-PartitionSupportedSize | Select SizeMax | ConvertTo-Json
Get-Volume -UniqueId "$Env:volumeID" | Get-Partition | Resize-Partition -Size 1054867456
(Get-Volume -UniqueId "$Env:volumeID" | Get-Partition).DiskNumber
Get-Volume -UniqueId "$Env:volumeID" | Write-Volumecache
# the same for people
Get-Disk | Format-Table Number, FriendlyName, PartitionStyle, OperationalStatus
Get-Disk -FriendlyName full | Get-Partition | Where Type -eq Basic | Select-Object -ExpandProperty AccessPaths
Get-Volume E | Format-List
Get-Partition -DriveLetter E | Get-Disk | Select-Object -ExpandProperty SerialNumber
Initialize-Disk 2
(Initialize-Disk 1 -PassThru -ErrorAction SilentlyContinue).Number
Get-Disk 1 | New-Partition -Size 64MB -AssignDriveLetter | Format-Volume -NewFileSystemLabel made -Force | Select DriveLetter, FileSystemLabel
Add-PartitionAccessPath -DiskNumber 2 -PartitionNumber 2 -AccessPath Q:
Add-PartitionAccessPath -DriveLetter C -AccessPath Q:
Format-Volume -DriveLetter C
Resize-Partition -DiskNumber 2 -PartitionNumber 2 -Size 0
Remove-PartitionAccessPath -DiskNumber 2 -PartitionNumber 2 -AccessPath 'C:\nowhere'
Set-Disk -Number 2 -IsReadOnly $false
(Format-Volume -DriveLetter E -FileSystem NTFS -NewFileSystemLabel again -Full).FileSystemLabel
Clear-Disk -Number 2 -RemoveData -RemoveOEM -Confirm:$false
Remove-Partition -DiskNumber 2 -PartitionNumber 2 -Confirm:$false
Update-Disk 1
