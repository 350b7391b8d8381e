# https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/convertto-json
Get-Service kubelet | ConvertTo-Json
Get-Process -Id 12 | Select-Object Name, Id | ConvertTo-Json -Compress
Get-ItemProperty HKLM:\SOFTWARE\Mullion | ConvertTo-Json -Depth 1
@{ services = Get-Service k* } | ConvertTo-Json -Depth 3 -Compress
Get-Service kubelet | ConvertTo-Csv
Get-Service kubelet | Export-Csv s.csv -NoTypeInformation; (Import-Csv s.csv).Status
Set-Content a.txt 1; Get-Item a.txt | Export-Csv f.csv -NoTypeInformation; (Import-Csv f.csv).Name
(Get-Item a.txt | ConvertTo-Json -Depth 1) -split '"Length"' | Measure-Object | % Count
