$j = Start-Job { 'one'; 'two' }; Wait-Job $j | Out-Null; Receive-Job $j -Keep; ($j | Receive-Job) -join '+'; (Receive-Job -Id $j.Id) -eq $null
Start-Job { 'waited for' } | Receive-Job -Wait; sajb { 'short' } | rcjb -Wait
$s = Start-Job { while ($true) { Start-Sleep 1 } }; Remove-Job $s; Stop-Job $s; (Get-Job -Id $s.Id).State; Stop-Job $s; rjb $s
$r = Start-Job { while ($true) { Start-Sleep 1 } }; spjb -Job $r; Remove-Job -Id $r.Id; Start-Job { while ($true) { Start-Sleep 1 } } | Remove-Job -Force; (Get-Job).Count; Get-Job | Remove-Job; (Get-Job) -eq $null
