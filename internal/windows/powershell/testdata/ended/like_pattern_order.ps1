$p = '[b-a]'; 'a' -like $p
