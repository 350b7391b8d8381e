5 | ForEach-Object Nothing
