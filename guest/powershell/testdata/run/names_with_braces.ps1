${a b} = 1
"${a b}:$(2)"
$c = ${a b}
if ($c) { 'c' } 'on one line'
