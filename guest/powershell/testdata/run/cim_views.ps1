# https://learn.microsoft.com/powershell/module/cimcmdlets/get-ciminstance
Get-CimInstance Win32_Service
Get-CimInstance Win32_BIOS
Get-WmiObject Win32_Service | Select-Object -First 1
Get-CimInstance Win32_Service | Select-Object -First 1 Name, PathName
Get-CimInstance Win32_Service | Select-Object -First 1 *
Get-CimInstance Win32_BIOS | Format-List *
(Get-CimInstance Win32_Service | Where-Object PathName).PathName
Get-CimInstance Win32_Service | ConvertTo-Csv -NoTypeInformation
