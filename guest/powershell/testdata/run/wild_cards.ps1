mkdir a, b | Out-Null
'1' | Set-Content a/one.txt
'2' | Set-Content a/two.TXT
'3' | Set-Content b/one.txt
'4' | Set-Content -LiteralPath 'a/[x].txt'
Test-Path a/*.txt
Test-Path a/*.md
Test-Path */one.txt
Test-Path -LiteralPath 'a/[x].txt'
Test-Path 'a/[x].txt'
(Get-Item a/t*).Name
Get-Content */one.txt
Get-ChildItem [ab]/o*.txt | ForEach-Object { $_.FullName.Replace("$PWD", '') }
Set-Content a/t* new
Get-Content a/two.TXT
Add-Content */one.txt more
Get-Content b/one.txt
Remove-Item a/*.txt
ls a -Name
Get-Item a/none*
Remove-Item a/none*
