function f { function g { 'g' }; g; $v = 'inner' }
$v = 'outer'
f
$v
1..3 | ForEach-Object { $sum += $_ }
$sum
1..3 | ForEach-Object { if ($_ -eq 2) { return }; $_ }
'a', 'b' | ForEach-Object { $o = $_; 1, 2 | ForEach-Object { "$o$_" } }
& { $v = 'block' }
$v
