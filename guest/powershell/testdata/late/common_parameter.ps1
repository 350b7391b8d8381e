Get-Item x -WarningVariable w
