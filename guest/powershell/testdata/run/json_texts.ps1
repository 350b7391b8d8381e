ConvertFrom-Json '[1, "2", null, true, 1.5]' | ForEach-Object { "<$_>" }
ConvertTo-Json -InputObject @(1) -Compress
1, 'a' | ConvertTo-Json -Compress
$null | ConvertTo-Json
