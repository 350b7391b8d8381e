$b = [scriptblock]::Create('param($a = 5) $a + 1; "args $args"'); & $b 2 3; & $b; $b.GetType().FullName; "$b"
Invoke-Command -ScriptBlock ([System.Management.Automation.ScriptBlock]::Create('"$($args.Count): $args"')) -ArgumentList @('x', 'y z')
$n = 'outer'; $read = [ScriptBlock]::Create("`$n; `$n = 'inner'"); & $read; $n; . $read; $n; 1, 2 | ForEach-Object ([scriptblock]::Create('$_ * 3'))
function known { 'known' }; & ([scriptblock]::Create('known')); [scriptblock]$c = [scriptblock]::Create(''); & $c
