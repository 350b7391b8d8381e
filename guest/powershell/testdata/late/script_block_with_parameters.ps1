$b = { param($x) $x }; 1 | ForEach-Object $b
