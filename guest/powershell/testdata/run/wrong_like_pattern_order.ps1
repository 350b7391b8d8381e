$p = '[b-a]'; 'a' -like $p
'it goes on'
