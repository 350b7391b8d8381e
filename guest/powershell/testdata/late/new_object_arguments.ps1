New-Object System.Random 1, 2, 3
