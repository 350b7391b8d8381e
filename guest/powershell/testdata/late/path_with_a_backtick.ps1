$p = 'a`[b'; Get-Item $p
