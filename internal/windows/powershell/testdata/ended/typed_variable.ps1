[int]$n = 1; $n = 'x'
