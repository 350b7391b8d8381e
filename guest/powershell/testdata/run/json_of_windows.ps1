# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/convertto-json?view=powershell-5.1: columns as
# Windows PowerShell has them, and characters by their numbers.
[ordered]@{ name = "it's <a> & b"; ää = @{ deep = [ordered]@{ n = $null; e = @{} } }; list = @(@{ x = 1 }, @(), 'q"') } | ConvertTo-Json -Depth 4
@{ text = "'<>&" } | ConvertTo-Json -Compress
ConvertTo-Json @()
(@{ text = "'<>&" } | ConvertTo-Json | ConvertFrom-Json).text
