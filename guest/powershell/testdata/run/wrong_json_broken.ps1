'{' | ConvertFrom-Json
'it goes on'
