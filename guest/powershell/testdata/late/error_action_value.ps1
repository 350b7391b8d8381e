Get-Item x -ErrorAction Break
