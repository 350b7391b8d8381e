# https://learn.microsoft.com/dotnet/api/system.timespan
[timespan]'00:05:00' | % TotalMinutes
[TimeSpan]::Parse('1.02:03:04.5').ToString()
([timespan]'2').Days
[timespan]600000000
$s = New-TimeSpan -Hours 25 -Minutes 3 -Seconds 7
$s.ToString('hh\:mm\:ss'); $s.ToString("d'd 'h'h 'm'm'"); $s.ToString('g'); $s.ToString('c'); $s.ToString('%d'); $s.ToString('s\.fff')
'{0:hh\:mm}' -f $s
$s.Add([timespan]'00:00:53').TotalMinutes; $s.Subtract('1.00:00:00').Hours
$s.Negate().TotalHours -lt 0; ([timespan]'-00:01').Duration().Minutes
[TimeSpan]::MaxValue.Days
function Wait-For([timespan]$For) { "$For" } Wait-For '00:00:10'
try { [timespan]'soon' } catch { "$_" }
try { [timespan]::Parse('25:00') } catch { $_.Exception.InnerException.GetType().Name }
try { '{0:hh:mm}' -f $s } catch { "$_" }
[timespan]$null
try { $s.ToString('x') } catch { "$_" }
try { [timespan]@{} } catch { "$_" }
