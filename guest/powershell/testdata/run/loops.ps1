for ($i = 0; $i -lt 5; $i++) { if ($i -eq 1) { continue }; if ($i -eq 3) { break }; $i }
for ($a = 1; $a -lt 100; $a *= 3) { $a }
for (;;) { 'once'; break }
do { $i--; $i } while ($i -gt 1)
do { $i++ } until ($i -ge 5)
$i
$x = 10; $x -= 3; $x /= 2; $x; $x %= 2; $x
$l = 1, 2; $l[0]++; $l[1]--; $l -join ','
$n = @{ a = 1 }; $n.a *= 5; $n.a

