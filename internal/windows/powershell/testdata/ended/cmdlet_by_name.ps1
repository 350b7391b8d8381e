$c = 'Optimize-Volume'; & $c
