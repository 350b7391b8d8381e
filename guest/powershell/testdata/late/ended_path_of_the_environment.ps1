$p = 'env:X'; Get-Content $p
