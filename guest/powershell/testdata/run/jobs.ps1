$j = Start-Job { exit 0 }
$j | Wait-Job | ForEach-Object { "$($_.Id) $($_.Name) $($_.State)" }
Start-Job -Name n { throw 'x' } | Out-Null
(Wait-Job -Id 3).State
(Get-Job).Count
(Get-Job -Id 1).State
$n = 4; $list = 'it''s', 2
$j = Start-Job { param($x, $y) "$($x * 2) $y $using:n $($using:list -join '+') $($args.Count)" } -ArgumentList 5, $true; Wait-Job $j | Out-Null; Receive-Job $j
Remove-Job $j; $j = Start-Job -ScriptBlock { param($t) $t.a; $t.b -eq $null } -ArgumentList @{ a = 'x'; b = $null }; Wait-Job $j | Out-Null; Receive-Job $j; Remove-Job $j
