Get-Process -Id 4 | ConvertTo-Json
