Restart-Computer -Force
"asked"
Stop-Computer -ErrorAction SilentlyContinue
"not stopped: $?"
try { Stop-Computer -Force -ErrorAction Stop } catch { $_.Exception.Message }
$info = Get-ComputerInfo | select WindowsProductName, OsName, WindowsVersion, CsName; $info.WindowsProductName; $info.OsName
(Get-ComputerInfo -Property 'OsBuild*', OsHardwareAbstractionLayer) | Format-List
((Get-ComputerInfo).OsHardwareAbstractionLayer.Split(".") | Select-Object -Last 1) -as [int]; (gin OsVersion).OsVersion; (Get-ComputerInfo nothing).OsName -eq $null
