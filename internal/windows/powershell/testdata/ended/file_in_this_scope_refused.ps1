Set-Content lib.ps1 "Clear-Disk"; . ./lib.ps1
