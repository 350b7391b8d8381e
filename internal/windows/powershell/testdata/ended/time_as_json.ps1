Get-Item . | ConvertTo-Json
