# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/get-content (-Wait, -Raw)
Set-Content lines.txt a
Get-Content lines.txt -Wait -Raw
"it goes on"
