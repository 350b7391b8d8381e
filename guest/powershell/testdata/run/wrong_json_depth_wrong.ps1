1 | ConvertTo-Json -Depth 101
'it goes on'
