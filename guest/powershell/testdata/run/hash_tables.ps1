# literals, keys, members, methods, enumeration
$h = @{ one = 1; 'two' = 2
3 = 'three'; ('fo' + 'ur') = 2 + 2 }
"$($h.Count) $($h['ONE']) $($h.two) $($h[3]) $($h['3']) $($h.four) $($h.none)|"
$h.five = 5; $h['six'] = 6; $h['six'] += 60; $h.seven++
"$($h.five) $($h.six) $($h['seven'])"
$h.Add('eight', 8); $h.Remove('eight'); $h.Remove('never')
$h.Set_Item('nine', 9); $h.Get_Item('nine'); $h.Item('nine'); $h.get_item('none')
$h.ContainsKey('NINE'); $h.Contains('ten'); $h.ContainsValue(9); $h.ContainsValue('9')
($h.Keys | ForEach-Object { "$_=$($h.Item($_))" }) -join ' '
($h.Values | Where-Object { $_ -is [int] }).Count
foreach ($e in $h.GetEnumerator()) { "$($e.Key)/$($e.Name): $($e.Value)" }
$copy = $h.Clone(); $copy.Clear(); "$($copy.Count) $($h.Count) $h"
$h['one', 'two', 'none'].Count
@{}.Count; if (@{}) { 'true' }
(@{ a = 1 } + @{ b = 2 }).Count
@{ list = 1, 2, 3; inner = @{ x = 1; y = 2 }; nothing = $null; yes = $true; long = 1, 2, 3, 4, 5 }
$nested = @{ a = @{ b = @{ c = 'deep' } } }; $nested.a.b.c; $nested['a']['b'].c = 'new'; $nested.a.b.c
@{ a = if ($true) { 'if' } else { 'else' }; b = 1, 2 | ForEach-Object { $_ * 2 } }.b -join ','
$exact = New-Object System.Collections.Hashtable; $exact.a = 1; $exact.A = 2; $exact.Count
$h = @{ Count = 'mine' }; $h.Count
@{ a = 1; b = @(1, 2) } | ConvertTo-Json -Compress
@{ a = 1 }.GetType().Name; ([ordered]@{ a = 1 }).GetType().FullName
$h -is [hashtable]; [ordered]@{} -is [hashtable]; $h -isnot [string]
'[' + (@{ a = 1 }.isreadonly) + ']'

