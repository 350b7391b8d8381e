Start-Sleep -1
'it goes on'
