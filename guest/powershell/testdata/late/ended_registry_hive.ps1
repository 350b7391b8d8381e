$p = 'Registry::x'; Test-Path $p
