Get-Process -Name x -Id 4
