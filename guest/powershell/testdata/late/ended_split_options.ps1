$o = ',', 0, 'SimpleMatch'; 'a,b' -split $o
