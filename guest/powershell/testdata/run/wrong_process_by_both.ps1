Get-Process -Name x -Id 4
'it goes on'
