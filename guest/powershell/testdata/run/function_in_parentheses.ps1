function f($x) { "<$x>" } $y = f('a b')
if (-not $?) { exit 1 }
echo "0$y"
