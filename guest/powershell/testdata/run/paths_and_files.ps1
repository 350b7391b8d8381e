[IO.Path]::GetFileName('C:\a\b.txt'); [IO.Path]::GetExtension('x.tar.gz'); [IO.Path]::HasExtension('x'); [IO.Path]::GetFileNameWithoutExtension('/a/b.txt'); [IO.Path]::IsPathRooted('a/b'); [IO.Path]::IsPathRooted('C:\a')
[IO.Path]::GetDirectoryName('/a/b/c.txt'); [IO.Path]::GetDirectoryName('/a'); [IO.Path]::GetFullPath('/a/../b'); [IO.Path]::DirectorySeparatorChar; [IO.Path]::PathSeparator; [IO.Path]::GetRandomFileName().Length; [IO.Path]::Combine('a', 'b', 'c')
$env:TMP = '/tmp'; [IO.Path]::GetTempPath()
[IO.File]::WriteAllText('f', "one`ntwo`n"); [IO.File]::Exists('f'); [IO.File]::ReadAllText('f'); [IO.File]::ReadAllLines('f').Count; [IO.File]::AppendAllText('f', 'x'); [IO.File]::ReadAllBytes('f').Count
[IO.File]::WriteAllLines('g', @('a', 'b')); Get-Content g; [IO.File]::WriteAllBytes('h', (104, 105)); Get-Content h; [IO.File]::Copy('h', 'i'); [IO.File]::Copy('h', 'i'); [IO.File]::Copy('h', 'i', $true)
[IO.File]::Move('i', 'j'); [IO.File]::Move('h', 'j'); [IO.File]::Exists('i'); [IO.File]::Delete('j'); [IO.File]::Delete('j'); [IO.File]::Exists('j')
[IO.File]::WriteAllText('u', 'ä', [System.Text.Encoding]::UTF8); [IO.File]::ReadAllBytes('u') -join ','; [IO.File]::ReadAllText('u'); [IO.File]::WriteAllText('w', 'a', [System.Text.Encoding]::Unicode); [IO.File]::ReadAllBytes('w') -join ','; [IO.File]::ReadAllText('w', [System.Text.Encoding]::Unicode)
[IO.File]::ReadAllText('none'); [IO.File]::ReadAllText(''); 'after none'
[void][IO.Directory]::CreateDirectory('d/e'); [IO.Directory]::Exists('d'); [IO.Directory]::GetFiles('.').Count; [IO.Directory]::GetDirectories('d'); [IO.Directory]::Delete('d'); [IO.Directory]::Delete('d', $true); [IO.Directory]::Exists('d'); [IO.Directory]::Delete('d')

