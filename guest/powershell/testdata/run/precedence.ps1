1 + 2 * 3
(1 + 2) * 3
7 -band 3 -eq 3
-not $false -and $true
