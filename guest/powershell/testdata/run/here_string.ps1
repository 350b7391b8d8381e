$n = 'cbr0'; $s = @"
{"name": "$n"}
"@
$s
@'
$n 'x'
'@
