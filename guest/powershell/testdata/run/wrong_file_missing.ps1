./none.ps1
'it goes on'
