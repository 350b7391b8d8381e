[Math]::PI; [math]::E; [Math]::Floor(1.7); [Math]::Ceiling(1.2); [Math]::Truncate(-1.7); [Math]::Sqrt(16); [Math]::Log10(1000); [Math]::Exp(0)
[Math]::Sin(0); [Math]::Cos(0); [Math]::Tan(0); [Math]::Log(1); [Math]::Atan(0); [Math]::Max(3, 7); [Math]::Min(3, 7.5); [Math]::Pow(2, 10)
[Math]::Abs(-5); [Math]::Abs(-5.5); [Math]::Sign(-3); [Math]::Round(2.5); [Math]::Round(3.5); [Math]::Round(3.14159, 2); [Math]::Round(1234.5)
[Math]::Round(1, 20); 'after digits'
[Convert]::ToBase64String([System.Text.Encoding]::UTF8.GetBytes('hello')); [System.Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('aGVsbG8='))
[Convert]::FromBase64String('&'); [Convert]::ToInt32('ff', 16); [Convert]::ToInt32('101', 2); [Convert]::ToInt32('12'); [Convert]::ToInt64('9'); [Convert]::ToDouble('1.5'); [Convert]::ToBoolean(1)
[Convert]::ToString(255, 16); [Convert]::ToString(5, 2); [Convert]::ToString(-1, 16); [Convert]::ToString(7); [Convert]::ToInt32('x', 7); [Convert]::ToInt32('x'); [Convert]::ToString(1, 7)
[guid]::Empty; [guid]::NewGuid().ToString().Length; [guid]::NewGuid() -ne [guid]::NewGuid(); [guid]::Parse('{0F8FAD5B-D9CB-469F-A165-70867728950E}').ToString('N')
(New-Object System.Guid '0F8FAD5B-D9CB-469F-A165-70867728950E').ToString('P'); [guid]::Empty.ToString('Z'); [guid]::Empty -eq '00000000-0000-0000-0000-000000000000'
$r = New-Object System.Random; $n = $r.Next(5, 10); $n -ge 5 -and $n -lt 10; $r.Next(1); $r.Next() -ge 0; $r.Next(5, 1); 'after random'
$w = [System.Diagnostics.Stopwatch]::StartNew(); $w.IsRunning; $w.Stop(); $w.ElapsedMilliseconds -ge 0; $w.Elapsed.TotalSeconds -lt 60; $w.Reset(); $w.ElapsedMilliseconds
$w = New-Object System.Diagnostics.Stopwatch; $w.Start(); $w.Restart(); $w.IsRunning
[System.Text.Encoding]::ASCII.GetBytes('aé') -join ','; [System.Text.Encoding]::Unicode.GetBytes('a') -join ','; [System.Text.Encoding]::BigEndianUnicode.GetBytes('a') -join ','
[System.Text.Encoding]::UTF8.GetByteCount('é'); [System.Text.Encoding]::Default.GetBytes('€') -join ','; [System.Text.Encoding]::Default.GetString((128, 228)); [System.Text.Encoding]::GetEncoding('iso-8859-1').GetBytes('ä') -join ','
[System.Text.Encoding]::UTF8.WebName; [System.Text.Encoding]::Unicode.BodyName; [System.Text.Encoding]::UTF8.GetString((104, 105, 33), 0, 2); [System.Text.Encoding]::ASCII.GetString((65, 200)); [System.Text.Encoding]::Unicode.GetString((97, 0)); "$([System.Text.Encoding]::UTF8)"
[System.Text.Encoding]::UTF8.GetString((104, 105), 1, 5); 'after range'

