$j = Start-Job { exit 0 }
$j | Wait-Job | ForEach-Object { "$($_.Id) $($_.Name) $($_.State)" }
Start-Job -Name n { throw 'x' } | Out-Null
(Wait-Job -Id 3).State
(Get-Job).Count
(Get-Job -Id 1).State
