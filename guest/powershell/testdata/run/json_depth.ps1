'{"a":{"b":{"c":{"d":1}}}}' | ConvertFrom-Json | ConvertTo-Json -Compress
