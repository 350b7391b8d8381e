$n = @{ a = 1 }; $n.ToUpper()
