'abc' -like 'a*'
'abc' -match 'B.'
'a,b' -split ',' -join '-'
'x' -in 'x','y'
5 / 2
6 % 4
