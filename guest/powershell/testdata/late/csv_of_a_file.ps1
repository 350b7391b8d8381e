Get-Item . | ConvertTo-Csv
