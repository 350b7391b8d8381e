# https://learn.microsoft.com/powershell/module/scheduledtasks
$action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument '-File C:\k\rotate.ps1' -WorkingDirectory 'C:\k' -Id 'a'
$action.Execute
$trigger = New-ScheduledTaskTrigger -Once -At '2027-01-01 03:00' -RepetitionInterval (New-TimeSpan -Minutes 5) -RepetitionDuration ([TimeSpan]::MaxValue)
$trigger.Repetition.Interval
$daily = New-ScheduledTaskTrigger -Daily -At 3am -DaysInterval 2
$daily.StartBoundary -match 'T03:00:00$'
$weekly = New-ScheduledTaskTrigger -Weekly -WeeksInterval 2 -DaysOfWeek Monday, Friday -At '23:30'
$boot = New-ScheduledTaskTrigger -AtStartup
$boot.Repetition = (New-ScheduledTaskTrigger -Once -At 1am -RepetitionInterval '00:10:00' -RepetitionDuration '01:00:00').Repetition
$boot.Repetition.Duration
$system = New-ScheduledTaskPrincipal -UserId 'NT AUTHORITY\SYSTEM' -LogonType ServiceAccount -RunLevel Highest -Id 'Author'
$settings = New-ScheduledTaskSettingsSet -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -DontStopOnIdleEnd -StartWhenAvailable -Hidden -WakeToRun -RunOnlyIfNetworkAvailable -ExecutionTimeLimit '00:30:00' -MultipleInstances IgnoreNew -RestartCount 3 -RestartInterval (New-TimeSpan -Minutes 1) -Priority 7 -Compatibility Win8
Register-ScheduledTask -TaskName 'rotate logs' -TaskPath '\Kubernetes\' -Action $action -Trigger $trigger, $daily, $weekly, $boot -Principal $system -Settings $settings -Description 'rotates logs'
$task = Get-ScheduledTask -TaskName 'rotate*' -TaskPath '\Kubernetes\'
$task.Triggers.Count
$task.Triggers | % { "$($_.Kind) $($_.DaysInterval)$($_.WeeksInterval) $($_.DaysOfWeek)" }
$task.Principal.UserId
$task.Settings.RestartCount
Get-ScheduledTaskInfo -TaskName 'rotate logs' | Select-Object LastTaskResult, TaskName
Register-ScheduledTask 'rotate logs' '\Kubernetes\' -Action $action
(Register-ScheduledTask 'rotate logs' '\Kubernetes\' -Action $action -User SYSTEM -RunLevel Highest -Force).TaskName
(Set-ScheduledTask 'rotate logs' -Trigger $boot -Settings $settings -Action $action -User SYSTEM -Password '' -Principal $system).State
Start-ScheduledTask 'rotate logs'
Stop-ScheduledTask -TaskName 'rotate logs' -TaskPath '\Kubernetes\'
(Disable-ScheduledTask 'rotate logs').State
(Get-ScheduledTask 'rotate logs' | Enable-ScheduledTask).State
$xml = Export-ScheduledTask 'rotate logs'
([xml]$xml).Task.Actions.Exec.Command
(Register-ScheduledTask -TaskName copy -Xml $xml).TaskPath
$made = New-ScheduledTask -Action $action -Trigger $boot -Principal $system -Settings (New-ScheduledTaskSettingsSet -Disable) -Description d
(Register-ScheduledTask made -InputObject $made -User SYSTEM -Password x).State
(Get-ScheduledTask | Sort-Object TaskName).TaskName
Unregister-ScheduledTask -TaskName copy, made -Confirm:$false
Get-ScheduledTask | Unregister-ScheduledTask -Confirm:$false
try { Get-ScheduledTask none -ErrorAction Stop } catch { "$_"; $_.FullyQualifiedErrorId }
Get-ScheduledTask none -ErrorAction SilentlyContinue
New-ScheduledTaskTrigger -AtLogOn -User me
New-ScheduledTaskTrigger -Daily -At 3am -RandomDelay '00:10:00'
New-ScheduledTaskTrigger -At 3am
Register-ScheduledTask wrong -Action $action -Trigger $boot -User 'CONTOSO\me'
Register-ScheduledTask nothing -Trigger $boot
Register-ScheduledTask queue -Action $action -Settings (New-ScheduledTaskSettingsSet -MultipleInstances Queue)
New-ScheduledTaskPrincipal -GroupId 'BUILTIN\Administrators' | % GroupId
Register-ScheduledTask day -Action $action -Trigger (New-ScheduledTaskTrigger -Weekly -At 1am -DaysOfWeek Someday)
