[pscustomobject]@{ a = 1 } | ConvertTo-Csv -Delimiter ab
