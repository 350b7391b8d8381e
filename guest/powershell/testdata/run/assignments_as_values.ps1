$a = $b = 3
"$a $b"
if ($x = 5) { "x is $x" }
($y = 2) + 1
$l = 1, 2
$m = $l
$m[0] = 9
"$l"
$n = ($l[1] = 7)
"$n $l"
${env:X Y} = 'z'
"${env:X Y}"
$env:EMPTY = ''
Test-Path env:EMPTY
