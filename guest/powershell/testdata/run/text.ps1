# methods of texts, and static ones
'kubelet'.Substring(4); 'kubelet'.Substring(0, 4); 'abc'.Remove(1); 'abcd'.Remove(1, 2); 'ac'.Insert(1, 'b')
'7'.PadLeft(3, '0'); 'a'.PadRight(3) + '|'; 'a'.PadLeft(3) + '|'; 'abc'.PadLeft(2)
'abcabc'.LastIndexOf('b'); 'abcabc'.IndexOf('b', 2); 'aBc'.IndexOf('b', [StringComparison]::OrdinalIgnoreCase); 'abc'.IndexOfAny('cb'.ToCharArray())
'a,b;c'.Split(',;') -join '|'; 'a,,b'.Split(',', [StringSplitOptions]::RemoveEmptyEntries).Count; 'a b  c'.Split().Count
'a,b,c'.Split(',', 2) -join '|'; 'a,,b'.Split(@(','), 'RemoveEmptyEntries') -join '|'; 'a b'.Split('') -join '|'
'xxaxx'.Trim('x'); '--a'.TrimStart('-'); 'a  '.TrimEnd() + '|'; ' a '.TrimStart() + '|'; 'xya'.Trim('x', 'y')
'Abc'.ToLowerInvariant(); 'Abc'.ToUpperInvariant(); 'abc'.StartsWith('AB', 'OrdinalIgnoreCase'); 'abc'.EndsWith('C', [StringComparison]::Ordinal)
'a'.CompareTo('b'); 'a'.Equals('A'); 'a'.Equals('A', 'OrdinalIgnoreCase'); 'abc'.ToCharArray().Count; 'a'.GetType().FullName
[string]::IsNullOrEmpty(''); [string]::IsNullOrEmpty($null); [string]::IsNullOrWhiteSpace("  "); [string]::IsNullOrEmpty('a')
[string]::Join(',', @(1, 2, 3)); [string]::Join('-', 'a', 'b'); [string]::Concat('a', 1, 'b'); '[' + [string]::Empty + ']'
[string]::Equals('a', 'b'); [string]::Compare('a', 'A', $true); [string]::Concat(@('x', 'y')); [string]::new('=', 5)
[char]::IsDigit('5'); [char]::IsLetter('5'); [char]::IsUpper('A'); [char]::IsLower('A'); [char]::IsWhiteSpace(' '); [char]::IsLetterOrDigit('-')
[char]65; [int][char]'a'; [char]'x' + 'y'; ([char]66).ToString() + 'c'
'ä€😀'.Length; 'ä€😀'.Substring(1, 1)
('a', 'b').ToUpper() -join ','; 'abc'.Length; 'a' * 3
'abc'.Substring(5); 'after substring'; 'abc'.Substring(1, 5); 'abc'.Replace('', 'x'); 'abc'.PadLeft(-1); 'abc'.IndexOf('a', 9)
[int]::Parse('42') + 1; [long]::Parse('9999999999'); [double]::Parse('1,234.5'); [bool]::Parse('true'); [int]::Parse('x'); 'after parse'
[int]::MaxValue; [int]::MinValue; [long]::MaxValue; [long]::MinValue; [double]::MaxValue; [double]::MinValue; [double]::NaN
[bool]::TrueString; [bool]::FalseString; (5).CompareTo(6); (5.5).CompareTo(1); (5).Equals(5); (5).GetType().Name; (5000000000).GetType().Name
[regex]::Escape('a.b*c[1]'); 'a.b' -match [regex]::Escape('.')
$b = New-Object System.Text.StringBuilder; $null = $b.Append('a').Append(1); [void]$b.AppendLine('x'); [void]$b.AppendFormat('{0}-{1}', 1, 2)
$b.ToString(); $b.Length; [void]$b.Clear(); $b.Length; (New-Object System.Text.StringBuilder('start')).ToString()
[string[]](1, 2) -join '+'; [int[]]('1', '2') -join '+'; ([array]5).Count; ([object[]]5).Count; [byte]200; [bool]'x'; [void]'gone'; [object]7; [psobject]8
([string]$null).Length; [uri]'http://x/y'; [hashtable]@{ a = 1 }; [int64]5; [int32]6

