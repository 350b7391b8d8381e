Get-Item x -Error e
