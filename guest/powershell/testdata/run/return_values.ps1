function f($n) { if ($n -gt 2) { return 'big', $n }; 'small' }
f 3
f 1
(f 3).Count
foreach ($i in 1, 2, 3) { if ($i -eq 1) { continue }; if ($i -eq 3) { break }; $i }
$i = 0
while ($i -lt 5) { $i++; if ($i -eq 2) { break } }
$i
