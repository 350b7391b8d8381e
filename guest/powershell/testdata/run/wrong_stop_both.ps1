Stop-Process -Id 1 -Name a
'it goes on'
