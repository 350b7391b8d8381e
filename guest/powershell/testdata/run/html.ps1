# https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/convertto-html
$rows = [pscustomobject]@{ Name = 'a<b'; List = 1, 2; At = [datetime]'2024-05-06 07:08:09' }, [pscustomobject]@{ Name = "ü'"; List = $null; At = $true }
$rows | ConvertTo-Html
$rows | ConvertTo-Html -Property Name, @{ n = 'Twice'; e = { $_.Name * 2 } } -Fragment -PreContent '<h1>Top</h1>' -PostContent 'end', 'of it'
$rows | ConvertTo-Html -As List -Property Name, At -Title 'My page' -CssUri style.css -Transitional
ConvertTo-Html -InputObject $rows[0] Name '<title>own</title>' -Body 'before' | Select-Object -First 6
'text' | ConvertTo-Html -Fragment
@{ key = 'value' } | ConvertTo-Html -Fragment
Get-Service kubelet | ConvertTo-Html -Property Name, Status -Fragment
$rows | ConvertTo-Html -As Tree
