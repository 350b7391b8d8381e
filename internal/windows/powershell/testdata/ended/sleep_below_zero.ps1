Start-Sleep -1
