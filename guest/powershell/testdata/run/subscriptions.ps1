# events with a name (https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/register-engineevent)
$job = Register-EngineEvent -SourceIdentifier Lunch -Action { "$($Event.SourceIdentifier) for $($Event.MessageData): $($args[0]) $Sender"; $global:seen = $Event.EventIdentifier } -MessageData two
$job.GetType().Name + ' ' + $job.Name + ' ' + $job.State
New-Event Lunch -Sender me -EventArguments soup | Out-Null
(Get-Job $job.Id).State
Receive-Job $job
"event $global:seen"
@(Get-Event).Count

# an event that nobody waits for lies in the queue until it is taken
New-Event Tea -MessageData green | Out-Null
New-Event Tea -MessageData black | Out-Null
Get-Event -SourceIdentifier Tea | ForEach-Object { $_.MessageData }
(Wait-Event Tea).MessageData
(Get-Event -EventIdentifier 3).MessageData
Remove-Event -EventIdentifier 3
Get-Event Tea | Remove-Event
@(Get-Event).Count
Wait-Event Nothing -Timeout 0
try { Remove-Event -SourceIdentifier Nothing -ErrorAction Stop } catch { "error: $_" }

# a timer: its action runs while the script sleeps, and its errors are no errors of the script
$timer = New-Object System.Timers.Timer
$timer.Interval = 20
$timer.AutoReset = $false
$ticks = Register-ObjectEvent -InputObject $timer -EventName Elapsed -SourceIdentifier Tick -Action { $global:tick = $EventArgs.SignalTime -is [datetime]; throw 'no' }
$timer.Start()
while (-not $global:tick) { Start-Sleep -Milliseconds 10 }
"ticked: $global:tick, enabled: $($timer.Enabled), errors: $($Error[0])"
Get-EventSubscriber | Select-Object SourceIdentifier, EventName | Sort-Object SourceIdentifier
Unregister-Event -SourceIdentifier Tick
$ticks.State + ' then ' + (Get-Job $ticks.Id).State
try { $timer.Interval = 0 } catch { $_.Exception.InnerException.Message }

# a loop that never sleeps is interrupted too; an action ends after so many events
$fast = New-Object Timers.Timer 5
$null = Register-ObjectEvent $fast Elapsed Fast -Action { $global:n++ } -MaxTriggerCount 2
$fast.Start()
$global:n = 0
while (@(Get-EventSubscriber).Count -gt 1) { }
"fast: $global:n"
$fast.Dispose()

# what has no such event
Register-ObjectEvent -InputObject $timer -EventName Nothing
Register-ObjectEvent $timer Elapsed Twice
Register-ObjectEvent $timer Elapsed Twice
Unregister-Event -SubscriptionId 99
Get-EventSubscriber | Unregister-Event
@(Get-EventSubscriber).Count
Register-EngineEvent PowerShell.Exiting -SupportEvent -Action { Write-Host 'good bye' }
@(Get-EventSubscriber).Count
@(Get-EventSubscriber -Force).Count
