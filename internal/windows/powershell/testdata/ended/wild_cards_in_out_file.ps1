$p = '*'; 'x' | Out-File $p
