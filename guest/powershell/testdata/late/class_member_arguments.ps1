[math]::Round(1, 2, 3, 4)
