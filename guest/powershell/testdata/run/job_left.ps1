# what a job has started and left running does not keep it (https://learn.microsoft.com/powershell/module/microsoft.powershell.core/start-job)
$began = Get-Date
$j = Start-Job { Start-Process sleep -ArgumentList 20 -NoNewWindow; 'done' }
(Wait-Job $j -Timeout 10).State; Receive-Job $j
$j = Start-Job { Start-Process sleep -ArgumentList 20 -NoNewWindow; 'begun'; Start-Sleep 60 }
while (-not (Receive-Job $j -Keep)) { Start-Sleep -Milliseconds 20 }
Stop-Job $j; $j.State; Receive-Job $j
((Get-Date) - $began).TotalSeconds -lt 10
