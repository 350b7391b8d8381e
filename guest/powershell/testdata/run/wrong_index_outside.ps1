$l = 1, 2; $l[5] = 1
'it goes on'
