# https://learn.microsoft.com/dotnet/api/system.io.filesystemwatcher
New-Item -ItemType Directory watched/below | Out-Null
$w = New-Object System.IO.FileSystemWatcher
try { $w.Path = 'nowhere' } catch { $_.Exception.InnerException.Message }
$w.Path = (Resolve-Path watched).Path
$w.IncludeSubdirectories = $true
$w.Filter = '*.txt'
$w.NotifyFilter = [IO.NotifyFilters]'FileName, LastWrite'
"$($w.NotifyFilter) $($w.InternalBufferSize) $($w.Filter) $($w.IncludeSubdirectories)"
$w.EnableRaisingEvents = $true
$global:names = @()
$null = Register-ObjectEvent -InputObject $w -EventName Created -SourceIdentifier Made -Action { $global:names += "$($EventArgs.ChangeType) $($Event.SourceEventArgs.Name)" }
$null = Register-ObjectEvent $w Deleted Gone
'x' | Set-Content watched/other.log
'x' | Set-Content watched/below/a.txt
while (-not $global:names) { Start-Sleep -Milliseconds 10 }
$global:names
Remove-Item watched/below/a.txt
$e = Wait-Event Gone -Timeout 20
"$($e.SourceEventArgs.ChangeType) $($e.SourceEventArgs.Name) by $($e.Sender.GetType().FullName)"
Split-Path -Leaf $e.SourceEventArgs.FullPath
Unregister-Event Made
Unregister-Event Gone

# WaitForChanged, with a change and without one
$t = New-Object Timers.Timer 30
$null = Register-ObjectEvent $t Elapsed Write -Action { 'y' | Add-Content watched/b.txt }
$t.Start()
$r = $w.WaitForChanged('Created, Changed', 20000)
"$($r.Name) $($r.TimedOut)"
$t.Stop(); Unregister-Event Write
$r = $w.WaitForChanged([System.IO.WatcherChangeTypes]::Deleted, 10)
"$($r.TimedOut)"
$w.Dispose()

# the end of a program
$p = Start-Process sh -ArgumentList '-c', '"sleep 0.1"' -PassThru
$p.EnableRaisingEvents = $true
$null = Register-ObjectEvent $p Exited Ended
(Wait-Event Ended -Timeout 20).Sender.HasExited
