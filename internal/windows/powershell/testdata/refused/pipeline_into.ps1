1 | Start-Sleep
