# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_regular_expressions
[regex]::Matches('a1b22', '\d+') | ForEach-Object { "$($_.Index) $($_.Length) $($_.Value)" }
[regex]::Match('key=val', '(?<k>\w+)=(?<v>\w+)').Groups['v'].Value
$m = [regex]::Match('2021-06', '(\d+)-(\d+)')
$m.Success; $m.Groups.Count; $m.Groups[1].Value; $m.Groups.Item(2).Value; $m.NextMatch().Success
$m.Result('$2/$1'); "$m"; $m.Captures.Count; $m.Groups[1].Name
[regex]::Match('x', '\d').Success
[regex]::IsMatch('ABC', 'b', 'IgnoreCase'); [regex]::IsMatch('ABC', 'b')
[regex]::Replace('abc', 'b', { param($m) $m.Value.ToUpper() })
$names = @{ one = 'eins'; two = 'zwei' }
[regex]::Replace('one two three', '\w+', { param($m) if ($names[$m.Value]) { $names[$m.Value] } else { $m } })
[regex]::Split('a,b;c', '[,;]') -join '|'
[regex]::Escape('a.b[c]'); [regex]::Unescape('a\.b')
$r = [regex]'(\w)(\d)'
$r.Replace('a1b2c3', '$2$1', 2); $r.IsMatch('x'); $r.Matches('a1b2').Count; $r.Split('xa1y').Count
$r.Match('zz9').Index; $r.GetGroupNames() -join ','; $r.ToString(); ([regex]::new('a', 'IgnoreCase, Multiline')).Options
$r = New-Object regex 'B'
'abc' -match $r; 'aBc' -match $r
# groups by their numbers and names
'2020-01-02' -match '(?<year>\d+)-(\d+)'; $Matches[1]; $Matches.1; $Matches.year; $Matches['year']; $Matches[0]
$Matches.Count; $Matches.ContainsKey('year')
# what only .NET's expressions have
'foobar' -replace 'foo(?=bar)', 'x'; 'aa' -replace '(a)\1', 'b'; 'ab' -replace '(a)', '$12'
'ab' -replace 'b', '$`'; 'ab' -replace 'a', "<`$'>"; 'ab' -replace 'a(b)', '$+$_'
'ä' -match '^\w$'; "a`n" -match 'a$'; 'baac' -replace 'a*', 'x'; 'ab' -replace 'b', { 'x' }
'a,b,c' -split ',', 2; 'a.b' -split '.', 0, 'SimpleMatch'; 'aXbxc' -csplit 'x', 0, 'IgnoreCase'
'a,b;c' -split { $_ -eq ',' -or $_ -eq ';' }; 'a,b,c' -split { $_ -eq ',' }, 2; 'a,b' -split ',', -1
try { 'a' -match '(' } catch { $_.Exception.Message }
try { [regex]::Match('a', '[') } catch { $_.Exception.InnerException.GetType().FullName }
try { [regex]::Match('a', 'x').Result('y') } catch { $_.Exception.Message }
try { [regex]::IsMatch('a', 'a', 'Sideways') } catch { 'no such option' }
$m
