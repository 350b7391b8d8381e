Set-Content lib.ps1 "Get-Disk"; . ./lib.ps1
