Start-Sleep
