# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.diagnostics/get-counter
Get-Counter '\Processor(_Total)\% Processor Time'
$s = Get-Counter -Counter '\Processor(*)\% Processor Time', '\\host-1\Memory\Available MBytes' -SampleInterval 1 -MaxSamples 2
"sets: $($s.Count); $($s[1].CounterSamples.Count)"
$s[1].CounterSamples | ForEach-Object { "$($_.Path) [$($_.InstanceName)] $($_.CookedValue) $($_.RawValue) $($_.SecondValue) $($_.MultipleCount) $($_.Status)" }
$s[0].CounterSamples
$s[0].Readings
$s[0].Timestamp.Year
(Get-Counter).CounterSamples.Count
'\Memory\Available MBytes' | Get-Counter | Select-Object -ExpandProperty CounterSamples | Select-Object -ExpandProperty CookedValue
Get-Counter -Continuous '\Memory\*' | Select-Object -First 1 | ForEach-Object { $_.CounterSamples[0].CounterType }
Get-Counter '\None\x'
Get-Counter '\Memory\none'
Get-Counter '\Processor(9)\% Processor Time' -ErrorAction SilentlyContinue; $?
Get-Counter nothing
Get-Counter '\\elsewhere\Memory\Available MBytes'
Get-Counter '\Process(broken)\ID Process' | ForEach-Object { $_.CounterSamples[0].Status }
try { Get-Counter '\Memory\Available MBytes' -Continuous -MaxSamples 2 } catch { "$_" }
try { Get-Counter '\Memory\Available MBytes' -MaxSamples 0 } catch { "$_" }
try { Get-Counter '\Memory\Available MBytes' -SampleInterval x } catch { "$_" }
