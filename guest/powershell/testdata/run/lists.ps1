$a = 1, 2, 3; $a.Contains(2); $a.Contains('2'); $a.IndexOf(3); $a.GetValue(1); $a.SetValue(9, 1); $a -join ','
$c = $a.Clone(); [array]::Reverse($c); $c -join ','; [array]::IndexOf($a, 9); $a.ToArray().Count; $a.GetEnumerator() | Select-Object -First 1
$a.Add(1); 'after add'; $a.Remove(1); $a.Clear(); $a.GetValue(5); $a.SetValue(1, 5); 'after all'
$l = New-Object System.Collections.ArrayList
$l.Add('a'); [void]$l.Add('b'); $l.AddRange(@('c', 'd')); $l.Insert(0, 'z'); $l.Count; $l -join ','
$l.Remove('b'); $l.RemoveAt(0); $l[0]; $l[-1]; $l[0] = 'A'; "$l"; $l.Contains('A'); $l.IndexOf('d'); $l.Length
$l.Reverse(); $l -join ','; $l.ToArray().Count; ($l + 'e').Count; foreach ($x in $l) { $x }; $l | ForEach-Object { "<$_>" }
$l.GetType().Name; if ($l) { 'some' }; $l.Clear(); if (-not $l) { 'none' }; $l.Insert(5, 1); $l.RemoveAt(0); 'after outside'
$g = New-Object 'System.Collections.Generic.List[string]'; $g.Add('x'); $g.Add('y'); $g.Remove('x'); $g.Count; $g -contains 'y'
$g = [System.Collections.Generic.List[int]]::new(); $g.Add(1); $g.GetType().Name; $g | ConvertTo-Json -Compress
$m = New-Object System.Collections.ArrayList(, @(1, 2)); $m.Count
(New-Object System.Collections.ArrayList 10).Count

