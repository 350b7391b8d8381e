# https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/format-table
# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_calculated_properties
$rows = 1..3 | ForEach-Object { [pscustomobject]@{ N = $_; Kind = if ($_ -lt 3) { 'few' } else { 'many' }; Part = $_ / 8 } }
$rows | Format-Table N, @{ n = 'Square'; e = { $_.N * $_.N }; align = 'left' }, @{ l = 'Hex'; e = { '{0:x}' -f ($_.N + 9) }; Alignment = 'right'; width = 8 }
$rows | Format-Table @{ Name = 'Part'; Expression = 'Part'; FormatString = 'P1' }, @{ Label = 'Mid'; Expression = { $_.Kind }; Align = 'center'; Width = 10 }
$rows | Format-Table N, Part -GroupBy Kind
$rows | Format-List N -GroupBy @{ n = 'How many'; e = { $_.Kind } }
Get-CimInstance Win32_Service | Format-Table
$rows | Format-Table @{ n = 'x'; e = 'N'; align = 'above' }
$rows | Format-Table @{ n = 'x'; e = 'N'; width = 0 }
$rows | Format-Table @{ n = 'x'; e = 'N'; colour = 1 }
$rows | Format-List @{ n = 'x'; e = 'Part'; FormatString = 'P0' }
$rows | Format-List @{ n = 'x'; e = 'N'; width = 3 }
