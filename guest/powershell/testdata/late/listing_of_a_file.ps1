Set-Content f 1; Get-ChildItem -LiteralPath f -Recurse
