1..4 | Where-Object { $_ % 2 -eq 0 } | ForEach-Object { "n$_" }
