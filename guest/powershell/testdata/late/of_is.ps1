1 -is 2
