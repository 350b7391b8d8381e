# https://learn.microsoft.com/en-us/dotnet/api/system.collections.generic
$d = New-Object 'System.Collections.Generic.Dictionary[string,object]'; $d.Add('k', 1); $d['k']; $d.Keys; $d.ContainsKey('K')
$v = $null; $d.TryGetValue('k', [ref]$v); $v; $d.Remove('none'); $d.Count; $d.GetType().FullName
$i = [System.Collections.Generic.Dictionary[string, int]]::new([StringComparer]::OrdinalIgnoreCase); $i['a'] = 1; $i['A']
$s = [System.Collections.Generic.HashSet[string]]::new(); $s.Add('a'); $s.Add('a'); $s.Count; $s.Contains('A'); $s.Remove('a')
$s.UnionWith([string[]]('x', 'y')); $s -join ','; $s.ExceptWith([string[]]'x'); $s.ToArray() -join ','; $s.IsSubsetOf([string[]]('y', 'z'))
$s.IntersectWith([string[]]'q'); $s.Clear(); $s.SetEquals(@()); $s.Overlaps(@('y')); $s.IsSupersetOf(@())
$q = New-Object System.Collections.Queue; $q.Enqueue(1); $q.Enqueue(2); $q.Peek(); $q.Dequeue(); $q.Count; $q.Contains(2); $q.ToArray()
$q.Clear(); try { $q.Dequeue() } catch { $_.Exception.Message }
$t = [System.Collections.Stack]::new(); $t.Push(1); $t.Push(2); $t.Pop(); $t.Peek(); $t -join ','
$l = [System.Collections.Generic.List[int]]::new(); $l.Add(3); $l.Add(1); $l.Sort(); $l -join ','; $l.GetRange(0, 1).Count; $l.RemoveRange(0, 1); $l.Count
$o = [ordered]@{ z = 1; a = 2 }; $o.Insert(0, 'q', 9); $o.Keys -join ','; $o.RemoveAt(1); $o.Keys -join ','
$a = 3, 1, 2; [array]::Sort($a); $a -join ','; $a.GetUpperBound(0); $a.GetLowerBound(0); $a.GetLength(0); $b = New-Object object[] 3; [byte[]]::new(2).Count
[array]::Copy($a, $b, 2); $b -join ','; $a.CopyTo($b, 0); $b -join ','; [array]::Resize([ref]$b, 1); $b.Count
[DayOfWeek]::Monday.CompareTo([DayOfWeek]::Friday); [DayOfWeek]::Monday.ToString('d'); ([IO.FileAccess]'Read, Write').HasFlag([IO.FileAccess]::Read)
'abc'.Chars(1); 'a'.GetHashCode() -eq 'a'.GetHashCode(); 'abc'.Normalize(); ('ab'.GetEnumerator()) -join '-'
# https://learn.microsoft.com/en-us/dotnet/api/system.type
[int]; [string].FullName; [int].BaseType.Name; [DayOfWeek].IsEnum; [DayOfWeek].GetEnumNames()[1]; [DayOfWeek].GetEnumValues().Count
[Exception].IsAssignableFrom([ArgumentException]); [ArgumentException].IsSubclassOf([Exception]); [int].IsInstanceOfType(5)
[string].GetMethods().Count -gt 5; [string].GetMethod('Trim').Name; [timespan].GetProperties().Count -gt 5; [timespan].GetProperty('Days').Name
[type]::GetType('System.String').Name; (Get-Item .).GetType().Name; [int].ToString(); [int].IsValueType
# numbers
[byte]::MaxValue; [uint64]::MaxValue; [int16]7; [decimal]1.5 + 1; [float]'2.5'; [uint16]::Parse('12'); [decimal]::Round(2.346, 2)
try { [byte]::Parse('300') } catch { 'too large' }; [decimal]::Floor(2.9); [decimal]::Ceiling(2.1); [single]::Truncate(2.9); $n = 0; [uint32]::TryParse('5', [ref]$n); $n
[Convert]::ToUInt32('5'); [Convert]::ToInt16('7'); [Convert]::ToByte('10'); [Convert]::ToDecimal('1.5'); [Convert]::ToChar(65); [Convert]::ToUInt64('9'); [Convert]::ToSingle('2.5'); [Convert]::ToDateTime('2020-01-02').Year
foreach ($c in [StringComparer]::CurrentCultureIgnoreCase, [StringComparer]::InvariantCultureIgnoreCase) { "$c" }
