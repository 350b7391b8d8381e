$n = "true"; Remove-Variable $n
