'a,b', 'c,d' -split ','
'a,b,c' -split ',', 2
'a1b22c' -split '(\d)'
'abc' -split ''
('a' -split ',').Count
"x`ny" -split "`n" -join '+'
