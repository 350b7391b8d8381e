'abc', 'de' | ForEach-Object Length; 'abc' | % ToUpper; [pscustomobject]@{ n = 1, 2 } | % n; @{ a = 5 } | % a; 'x' | ForEach-Object -Process { $_ + 'y' }
