$d = 'x'
echo a$("b" + 'c')d $d/y "$d`t`"q`"`e"
echo a`"b
