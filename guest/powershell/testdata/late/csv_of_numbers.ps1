1, 2 | ConvertTo-Csv
