$n = -2; 'a,b' -split ',', $n
