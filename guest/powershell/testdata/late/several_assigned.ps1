$a, $pid = 1, 2
