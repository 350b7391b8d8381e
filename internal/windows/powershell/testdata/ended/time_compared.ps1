(Get-Item .).LastWriteTime -gt '1/1/2020'
