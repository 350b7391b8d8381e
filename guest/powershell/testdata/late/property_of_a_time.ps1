(Get-Item .).LastWriteTime.Nope
