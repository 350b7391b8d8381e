$n = "true"; Set-Variable $n 1
