$p = Get-Process -Id 12
"$($p.WS) $($p.WorkingSet64) $($p.PM) $($p.PrivateMemorySize64) $($p.VM) $($p.NPM) $($p.Handles) $($p.SI) $($p.Path)"
"$($p.CPU) $($p.TotalProcessorTime) $($p.StartTime.Year) $($p.PeakWorkingSet64) $($p.HasExited)"
Get-Process | Sort-Object WS -Descending | Select-Object -First 2 Name, @{ n = 'MB'; e = { $_.ws / 1MB } }
(Get-Process | Measure-Object WorkingSet64 -Sum).Sum / 1MB
"of System: '$((Get-Process System).WS)'"
Get-Process | Where-Object { $_.CPU -gt 1 } | ForEach-Object { $_.Name }
