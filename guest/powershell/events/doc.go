// Package events has what happens beside a script: the events of objects and of the engine, who has subscribed to
// them, the queue of those that nobody has taken, and the classes of .NET that scripts subscribe to, FileSystemWatcher
// and Timer.
//
// An event comes from any goroutine. It only waits in its subscriber's queue and rings the session's alarm: actions run
// in the script's own goroutine, between two statements, or while it sleeps or waits, as those of Windows PowerShell
// run on its pipeline's thread
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/register-objectevent).
//
//	watcher, timer, process ── Raise ──▶ Manager ── alarm ──▶ the engine runs actions
//	                                        └──▶ queue: Get-Event, Wait-Event
package events
