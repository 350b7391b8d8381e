Get-Item x -OutVariable env:x
