$p = '*'; Set-Content f x; Copy-Item f $p
