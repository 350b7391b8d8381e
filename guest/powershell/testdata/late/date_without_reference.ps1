[datetime]::TryParseExact("2020", "yyyy", $null, "None", 5)
