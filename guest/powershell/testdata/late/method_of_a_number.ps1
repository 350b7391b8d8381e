$n = 5; $n.ToUpper()
