$b = { $_ -eq ',' }; 'a,b' -split $b
