$o = [ordered]@{ z = 1; a = 2 }
$o.m = 3; $o.Keys -join ','; $o[0]; $o['m']; $o[9]; $o[1] = 'second'; $o.a; $o
$o.Remove('z'); $o.Add('k', 1); $o.Contains('k'); $o.Set_Item('k', 2); $o.Get_Item('k'); $o.Item('k')
($o.GetEnumerator() | ForEach-Object { $_.Key }) -join ' '
$o.Clear(); $o.Count
(New-Object System.Collections.Specialized.OrderedDictionary).Count
$p = [pscustomobject]@{ Name = 'n'; Size = 5 }
$p; $p.Size; $p.Size = 6; "$p"; $p | ConvertTo-Json -Compress; $p.GetType().Name
New-Object PSObject -Property @{ a = 1; b = 'x' }
(New-Object -TypeName PSCustomObject -Property ([ordered]@{ a = 1 })).a

