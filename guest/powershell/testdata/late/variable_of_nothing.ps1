$n = "host"; Get-Variable $n
