Get-ItemProperty HKCR:\x
