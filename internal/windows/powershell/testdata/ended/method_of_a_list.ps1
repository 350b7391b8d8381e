$n = 1, 2; $n.Contains('1')
