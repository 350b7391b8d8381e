Get-Item x -ErrorVariable Error
