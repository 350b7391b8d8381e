[int]$n = 1; $n = 'x'
'it goes on'
