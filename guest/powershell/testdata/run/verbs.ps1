# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/get-verb
(Get-Verb).Count
Get-Verb -Verb Un*
Get-Verb get, set | ForEach-Object { "$($_.Verb) of $($_.Group)" }
'Test', 'nosuch' | Get-Verb | ForEach-Object Verb
Get-Verb | Group-Object Group -NoElement | ForEach-Object { "$($_.Count) $($_.Name)" }
Get-Verb | Where-Object { $_.Verb -eq 'Use' }
@(Get-Verb nosuch).Count
