$p = '(?=a)'; 'a' -match $p
