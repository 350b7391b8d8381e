(Get-Item .).Nope
