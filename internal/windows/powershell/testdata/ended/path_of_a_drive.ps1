$p = 'HKLM:/x'; Test-Path $p
