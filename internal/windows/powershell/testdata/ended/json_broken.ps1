'{' | ConvertFrom-Json
