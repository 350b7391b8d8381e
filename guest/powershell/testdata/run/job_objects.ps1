# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/start-job
# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_jobs
$j = Start-Job -Name typed { 4; 'text'; [pscustomobject]@{ Name = 'a'; Size = 3 }; @(1, 2); [datetime]'2024-05-06'; $null }
$j.GetType().FullName
"$($j.Id) $($j.Name) $($j.PSJobTypeName) $($j.Location) [$($j.Command.Trim().Substring(0, 9))]"
Wait-Job $j | Out-Null
"$($j.State) $($j.HasMoreData) $($j.JobStateInfo.State) $($j.JobStateInfo)"
$got = @(Receive-Job $j -Keep)
"$($got.Count): $($got[0] + 1) $($got[1].Length) $($got[2].Name) $($got[2].Size * 2) $($got[3] + $got[4]) $($got[5].Year)"
"$($j.HasMoreData) then $(@(Receive-Job $j).Count) then $($j.HasMoreData)"
"same object: $($j -eq (Get-Job -Name typed)) ended after it began: $($j.PSEndTime -ge $j.PSBeginTime)"
"child: $($j.ChildJobs.Count) $($j.ChildJobs[0].Id) $($j.ChildJobs[0].Name) $($j.ChildJobs[0].State)"
(Get-Job -Id $j.Id -IncludeChildJob).Count

# errors, warnings and messages come in their own streams
$e = Start-Job { Write-Error boom; Write-Warning careful; Write-Host hello; 'goes on'; Get-Item nosuch -ErrorAction SilentlyContinue }
Wait-Job $e | Out-Null
"$($e.State) $($e.ChildJobs[0].Error.Count) $($e.ChildJobs[0].Error[0]) $($e.ChildJobs[0].Warning) $($e.ChildJobs[0].Output)"
Receive-Job $e -Keep
Receive-Job $e -ErrorVariable kept -ErrorAction SilentlyContinue | Out-Null; "kept: $kept"
$t = Start-Job { 'before'; throw 'it broke'; 'after' } | Wait-Job
"$($t.State) $($t.ChildJobs[0].JobStateInfo.Reason.Message)"
try { Receive-Job $t -ErrorAction Stop } catch { "caught $_" }
(Start-Job { exit 5 } | Wait-Job).State
(Start-Job { cmd-that-is-not-there; 'still' } | Wait-Job).State

# -Any, -Timeout, -State, names with wild cards
$slow = Start-Job -Name slow { while ($true) { Start-Sleep 1 } }; $fast = Start-Job -Name fast { 'done' }
(Wait-Job $slow, $fast -Any).Name
"late: $(@(Wait-Job $slow -Timeout 0).Count)"
"running: $((Get-Job -State Running).Name) by name: $((Get-Job -Name f*, s*).Name -join ',')"
"with more: $((Get-Job -HasMoreData $true).Name -join ',')"
"newest: $((Get-Job -Newest 1).Name)"
(Stop-Job -Name slow -PassThru).State
$fast | Receive-Job -Wait -AutoRemoveJob; "left: $(@(Get-Job -Name f*).Count)"

# arguments and what initializes a job
Set-Content job.ps1 'param($a, $b) "$a and $($b.Count) of a file"'
Start-Job -FilePath job.ps1 -ArgumentList x, (1, 2, 3) | Receive-Job -Wait
Start-Job -InitializationScript { function greet($w) { "hello $w" } } { greet $args[0] } -ArgumentList 'you' | Receive-Job -Wait
1, 2, 3 | Start-Job { $input | ForEach-Object { $_ * 2 } } | Receive-Job -Wait
Start-Job { param($d, $o, $s) "$($d.Year) $($o.A) $($s.TotalMinutes)" } -ArgumentList ([datetime]'2024-05-06'), ([pscustomobject]@{ A = 'b' }), ([timespan]'01:30:00') | Receive-Job -Wait
[Console]::WriteLine('none of it'); Start-Job { [Console]::WriteLine('a plain line') } | Receive-Job -Wait

# what is not there
Get-Job -Id 99
Get-Job -Name none
Wait-Job -Name none*
Receive-Job -InstanceId 00000000-0000-0000-0000-000000000001
Start-Job -FilePath nosuch.ps1
Receive-Job $t -AutoRemoveJob
Get-Job -State Wrong
Get-Job | Remove-Job -Force; @(Get-Job).Count
