$n = 5; $n[0]
'it goes on'
