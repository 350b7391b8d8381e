Set-Content -Path f -Value 'a', 'b'
(Get-Content f).Count
Get-Content f -Raw
'c' | Add-Content f -NoNewline
Get-Content f
Get-Content none, f
'f' | Get-Content
Get-Item f | Get-Content
