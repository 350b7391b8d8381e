1 | ForEach-Object Length
