$null = 'x'
$null -eq 'x'
$null -eq $null
0 -eq $null
'' -eq $null
$false -eq $null
$null -eq 0
0 -ne $null
-1 -lt $null
1 -gt $null
$null.Count
