Get-Item x -Verbose
