Get-ChildItem env:
