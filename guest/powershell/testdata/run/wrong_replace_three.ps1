$o = 'a', 'b', 'c'; 'a' -replace $o
'it goes on'
