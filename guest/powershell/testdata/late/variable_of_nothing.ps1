$n = "transcript"; Get-Variable $n
