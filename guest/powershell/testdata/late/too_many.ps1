Start-Sleep 1 2
