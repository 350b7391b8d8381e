$b = { 'x' }; 'a' -replace 'a', $b
