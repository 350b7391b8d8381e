3, 1, 2 | Sort-Object; 3, 1, 2 | sort -Descending; 'b', 'A', 'a', 'B' | Sort-Object; 'b', 'A', 'a' | Sort-Object -CaseSensitive; 3, 1, 3 | Sort-Object -Unique; 10, 9, '8' | Sort-Object
$l = [pscustomobject]@{ n = 'x'; v = 3 }, [pscustomobject]@{ n = 'y'; v = 1 }, [pscustomobject]@{ n = 'x'; v = 2 }
($l | Sort-Object v | ForEach-Object { $_.v }) -join ','; ($l | Sort-Object n, v | ForEach-Object { "$($_.n)$($_.v)" }) -join ','
($l | Sort-Object @{ Expression = 'n'; Descending = $true }, @{ e = { $_.v }; Ascending = $true } | ForEach-Object { "$($_.n)$($_.v)" }) -join ','; ($l | Sort-Object { -$_.v } | ForEach-Object { $_.v }) -join ','
($l | Sort-Object none | Measure-Object).Count; $null, 2, 1 | Sort-Object
@{ b = 2; a = 1 }.GetEnumerator() | Sort-Object Name
$l | Group-Object n; $l | group n -NoElement; ($l | Group-Object n)[0].Group[1].v; 'a', 'A', 'b' | Group-Object | ForEach-Object { "$($_.Name)=$($_.Count)" }; 'a', 'A' | Group-Object -CaseSensitive | ForEach-Object { $_.Count }
$h = $l | Group-Object n -AsHashTable; $h.x.Count; $h = 1, 1, 2 | Group-Object -AsHashTable; $h[1].Count; $h = 1, 2 | Group-Object -AsHashTable -AsString; $h['1']; ($l | Group-Object n, v | Select-Object -First 1).Values -join '+'
1, 2, 3 | Measure-Object; (1, 2, 3 | Measure-Object -Sum -Average -Minimum -Maximum).Sum; $m = $l | Measure-Object v -Average -Maximum -Minimum; "$($m.Average) $($m.Maximum) $($m.Minimum) $($m.Property) $($m.Count)"; ('b', 'a' | measure -Minimum).Minimum
(@() | Measure-Object).Count; $l | Measure-Object n -Sum; 'one two', 'three' | Measure-Object -Line -Word -Character; ('x y' | Measure-Object -Word).Words; ($l | Measure-Object none).Count

