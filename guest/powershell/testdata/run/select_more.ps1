1..5 | Select-Object -Last 2; 1..5 | Select-Object -Skip 3; 1..5 | Select-Object -Skip 1 -First 2; 1..5 | Select-Object -Skip 1 -Last 1; 1, 1, 2, 1 | Select-Object -Unique
[pscustomobject]@{ a = 1; b = 2 } | Select-Object a, @{ n = 'sum'; e = { $_.a + $_.b } }, @{ Name = 'renamed'; Expression = 'b' }, none | ConvertTo-Json -Compress
[pscustomobject]@{ a = 1 }, [pscustomobject]@{ a = 1 } | Select-Object a -Unique | ForEach-Object { $_.a }
[pscustomobject]@{ a = 5 } | Select-Object { $_.a * 2 }, @{ Label = 'x'; e = 'a' }, @{ e = 'a' }

