(Get-Item .).LastWriteTime.Year
