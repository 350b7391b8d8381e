# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_hash_tables
$h = @{}; $h.NewKey = 1; $h.newkey = 2; $h.'Other Key' = 3; $name = 'ByName'; $h.$name = 4
$h.Keys | Sort-Object
$h | Select-Object NewKey | ConvertTo-Json -Compress
$o = [ordered]@{First = 1}; $o.FIRST = 2; $o.Second = 3; $o | ConvertTo-Json -Compress
$exact = New-Object Hashtable; $exact.Key = 1; $exact.key = 2; $exact.Key; $exact.key; $exact['Key']
$config = '{"list": []}' | ConvertFrom-Json; $config.List = 1; $config | ConvertTo-Json -Compress
$none = $null; $text = 'abc'
foreach ($wrong in { $none.Some = 1 }, { $config.Missing = 1 }, { $text.Length = 5 }, { $none.Call() }, { $none[0] }, { $none['a'] }, { (5)[1] }) {
  try { & $wrong } catch { "$_"; "$($_.CategoryInfo.Category), $($_.FullyQualifiedErrorId)" }
}
