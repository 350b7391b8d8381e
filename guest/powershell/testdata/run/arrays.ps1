$a = @('x')
$a += 'y'
$a.Count
$a[-1]
($a).Length
