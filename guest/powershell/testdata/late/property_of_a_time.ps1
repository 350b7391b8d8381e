(Get-Item .).LastWriteTime.Kind
