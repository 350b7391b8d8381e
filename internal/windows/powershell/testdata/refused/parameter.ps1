Get-ChildItem -Recurse
