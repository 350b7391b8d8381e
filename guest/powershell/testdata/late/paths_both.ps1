Get-Item -Path a -LiteralPath b
