1 | ConvertTo-Json -Depth 101
