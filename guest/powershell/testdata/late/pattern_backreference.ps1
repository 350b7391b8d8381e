$p = '(a)\1'; 'aa' -replace $p
