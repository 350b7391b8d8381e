(Get-Item .).Attributes
