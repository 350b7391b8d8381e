'a' | Where-Object Length -EQ 1 -NE 2
'it goes on'
