$p = 'HKLM:/x'; Get-Content $p
