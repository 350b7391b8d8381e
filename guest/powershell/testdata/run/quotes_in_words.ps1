$x = 1
echo a"b c"d a'$x'd --name="$x and $(1 + 1)" --none=""
function f($v) { "<$v>" }
f a=""
f --x='it''s'"`t."
Invoke-Expression "f --y=`"`""
echo a"x",b"y"
