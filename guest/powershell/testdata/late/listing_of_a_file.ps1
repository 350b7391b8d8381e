Set-Content f 1; Get-ChildItem f -Recurse
