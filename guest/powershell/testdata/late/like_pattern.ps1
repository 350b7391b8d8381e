$p = '[a'; 'a' -like $p
