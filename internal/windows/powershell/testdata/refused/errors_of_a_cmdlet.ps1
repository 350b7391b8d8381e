Get-Item x 2>&1
