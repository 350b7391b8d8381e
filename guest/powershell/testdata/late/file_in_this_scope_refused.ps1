Set-Content lib.ps1 "Optimize-Volume"; . ./lib.ps1
