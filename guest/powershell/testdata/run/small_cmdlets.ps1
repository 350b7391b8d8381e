Clear-Host
cls; clear
Get-Random -Minimum 5 -Maximum 6
(Get-Random) -ge 0
(Get-Random 10) -lt 10
7, 7, 7 | Get-Random
(1..10 | Get-Random -Count 3).Count
(1..3 | Get-Random -Count 9 | Sort-Object) -join ','
Get-Random -Minimum 6 -Maximum 6
(New-Guid).ToString().Length
(Measure-Command { Start-Sleep -Milliseconds 20; 'lost' }).TotalMilliseconds -ge 20
(Measure-Command -Expression { 1 }).Days
