$a, $b = 1, 2
"$a $b"
$a, $b = $b, $a
"$a $b"
$first, $rest = 1..4
"$first - $rest"
$x, $y, $z = 'one'
"[$x][$y][$z]"
$a, $env:SOME = 'p', 'q'
"$a $env:SOME"
$n, $m = foreach ($i in 1, 2) { $i * 10 }
"$n $m"
$a, $b
($p, $q = 8, 9)
$r = $s, $t = 3, 4
"$r"
