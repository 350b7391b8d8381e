Get-Item none 2>$null | Out-Null
"$?"
Get-Content none 2>$null | ForEach-Object { $_ }
