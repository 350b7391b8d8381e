$o = ',', 0, 'SimpleMatch', 4; 'a' -split $o
