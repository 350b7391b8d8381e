$p = '[a-z-[b]]'; 'a' -match $p
