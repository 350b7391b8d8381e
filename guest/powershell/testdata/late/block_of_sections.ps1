1 | ForEach-Object { process { 1 } }
