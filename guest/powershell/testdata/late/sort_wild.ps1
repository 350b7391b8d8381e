$n = 'a*'; [pscustomobject]@{ a = 1 } | Sort-Object $n
