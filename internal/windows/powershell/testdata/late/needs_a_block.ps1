1 | ForEach-Object
