$o = 'a', 'b', 'c'; 'a' -replace $o
