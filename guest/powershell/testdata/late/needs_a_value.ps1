Get-ChildItem -Path
