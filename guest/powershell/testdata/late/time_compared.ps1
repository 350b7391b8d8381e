(Get-Item .).LastWriteTime -gt 'never'
