$d = [DateTime]'2021-03-04 15:06:07'
$d.Year; $d.Month; $d.Day; $d.Hour; $d.Minute; $d.Second; $d.Millisecond; $d.DayOfYear; $d.DayOfWeek; $d.Ticks; $d.TimeOfDay.ToString(); $d.Date
$d; "$d"; $d.ToString(); $d.ToString('yyyyMMdd-HHmmss'); $d.ToString('ddd, dd MMM yy h:mm tt'); $d.ToString('dddd d MMMM'); $d.ToString("HH'h'mm"); $d.ToString('%d'); $d.ToString('hh:mm:ss.fff t')
foreach ($f in 'd', 'D', 't', 'T', 'f', 'F', 'g', 'G', 'm', 'y', 's', 'u', 'R') { $d.ToString($f) }
$d.AddDays(1).ToString('s'); $d.AddHours(-16).ToString('s'); $d.AddMinutes(60).ToString('s'); $d.AddSeconds(90).ToString('s'); $d.AddMilliseconds(1).Millisecond; $d.AddMonths(-1).ToString('s'); $d.AddYears(1).ToString('s')
([DateTime]'2021-01-31').AddMonths(1).ToString('d')
$d.ToShortDateString(); $d.ToLongDateString(); $d.ToShortTimeString(); $d.ToLongTimeString()
$s = $d - [DateTime]'2021-03-01'; $s.Days; $s.Hours; $s.Minutes; $s.Seconds; $s.Milliseconds; $s.Ticks; $s.TotalDays -gt 3; $s.TotalHours -lt 100; $s.TotalMinutes -gt 1; $s.TotalSeconds; $s.TotalMilliseconds; "$s"; $s
$d.Subtract([TimeSpan]::FromDays(1)).ToString('d'); $d.Add([TimeSpan]::FromHours(1)).ToString('t'); ($d + [TimeSpan]::FromMinutes(5)).ToString('t'); ($d - [TimeSpan]::FromSeconds(7)).ToString('T')
[TimeSpan]::FromMilliseconds(1500).ToString(); [TimeSpan]::Zero; (New-Object TimeSpan 1, 2, 3).ToString(); (New-Object TimeSpan 1, 2, 3, 4).ToString(); ([TimeSpan]::FromHours(1) + [TimeSpan]::FromHours(2)).TotalHours; [TimeSpan]::FromHours(-1).ToString(); [TimeSpan]::FromHours(1) -gt [TimeSpan]::Zero
$d -gt [DateTime]'2020-01-01'; $d -lt '1/1/2020'; $d -eq [DateTime]'2021-03-04T15:06:07'; [DateTime]::Parse('3/4/2021').ToString('s'); [DateTime]::Parse('never'); 'after parse'
[DateTime]::Now.Year -gt 2000; [DateTime]::UtcNow.ToString('o').EndsWith('Z'); [DateTime]::Today.Hour; [DateTime]::IsLeapYear(2024); [DateTime]::IsLeapYear(1900); [DateTime]::DaysInMonth(2021, 2); [DateTime]::DaysInMonth(2021, 13)
(New-Object DateTime 2020, 2, 29).ToString('s'); (New-Object DateTime 2020, 2, 30); 'after day'; [DateTime]::new(2020, 1, 2, 3, 4, 5).ToString('s'); $d.ToString('Q'); 'after format'
$u = [DateTime]'2021-03-04T00:00:00Z'; $u.ToUniversalTime().ToString('u'); $u.ToUniversalTime().ToString('o'); $u.ToLocalTime() -eq $u; $d.ToString('U').Length -gt 10
$d.ToString('zzz').Length; $d.ToUniversalTime().ToString('K z zz'); $d.ToUniversalTime().ToString('ff FF')

