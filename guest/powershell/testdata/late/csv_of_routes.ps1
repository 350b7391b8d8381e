Get-NetRoute | ConvertTo-Csv
