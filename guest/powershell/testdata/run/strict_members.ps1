# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/set-strictmode
$o = [pscustomobject]@{A = 1}; $h = @{Key = 1}; $exact = New-Object Hashtable; $exact.Key = 2; $none = $null
"[$($h.Missing)$($none.Missing)$($o.Missing)]"
Set-StrictMode -Version Latest
$h.key; $exact.Key; $h.Count; $h.Keys; $o.A; $h.GetType().Name; $o.psobject.Properties.Name
foreach ($wrong in { $o.Missing }, { $h.Missing }, { $exact.key }, { $none.Missing }, { $notThere }) {
  try { & $wrong; 'not reached' } catch { "$_"; "$($_.CategoryInfo.Category), $($_.FullyQualifiedErrorId)" }
}
