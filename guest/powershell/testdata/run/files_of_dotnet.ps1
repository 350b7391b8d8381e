# https://learn.microsoft.com/en-us/dotnet/api/system.io
[IO.Directory]::CreateDirectory("$PWD/d/e") | Out-Null; 'x' | Set-Content d/a.txt; 'y' | Set-Content d/e/b.txt; 'z' | Set-Content d/c.log
[IO.Directory]::GetFiles('d', '*.txt', [IO.SearchOption]::AllDirectories).Count; [IO.Directory]::GetFiles('d', '*.*').Count; [IO.Directory]::GetDirectories('d').Count
[IO.Directory]::GetFileSystemEntries('d').Count; @([IO.Directory]::EnumerateFiles('d', '*', 'AllDirectories')).Count; @([IO.Directory]::EnumerateDirectories('d')).Count; [IO.Directory]::GetCurrentDirectory() -eq "$PWD"
$f = New-Object System.IO.FileStream("$PWD/s.bin", [IO.FileMode]::Create, [IO.FileAccess]::Write, [IO.FileShare]::None); $f.Write([byte[]](65, 66, 67), 0, 3); $f.Close(); (Get-Item s.bin).Length
$z = New-Object System.IO.Compression.GZipStream([IO.File]::Create("$PWD/s.gz"), [IO.Compression.CompressionMode]::Compress); $r = [IO.File]::OpenRead("$PWD/s.bin"); $r.CopyTo($z); $r.Close(); $z.Close()
$z = [System.IO.Compression.GZipStream]::new([IO.File]::Open("$PWD/s.gz", 'Open', 'Read'), 'Decompress'); $w = [IO.File]::OpenWrite("$PWD/t.bin"); $z.CopyTo($w); $w.Dispose(); $z.Dispose(); Get-Content t.bin -Raw
try { [IO.File]::Open("$PWD/none", 'Open') } catch { $_.Exception.InnerException.GetType().Name }; try { [IO.File]::Open("$PWD/t.bin", 'Nope') } catch { 'no mode' }; $f.CanWrite; $f.CanRead
[IO.File]::GetLastWriteTime("$PWD/t.bin").Year -gt 2000; [IO.Path]::ChangeExtension('a.txt', 'md'); [IO.Path]::ChangeExtension('a.b/c', '.d'); [IO.Path]::GetInvalidFileNameChars().Count; [IO.Path]::GetInvalidPathChars().Count
[IO.Path]::GetPathRoot('C:\x'); [IO.Path]::GetPathRoot('/x'); $t = [IO.Path]::GetTempFileName(); Test-Path $t; Remove-Item $t
$i = [IO.FileInfo]"$PWD/d/a.txt"; $i.BaseName; $i.Directory.Name; $i.Exists; $i.IsReadOnly; $i.Attributes; (New-Object System.IO.FileInfo 'none.txt').Exists; (Get-Item d/e).Parent.Name; [IO.DirectoryInfo]'d' | ForEach-Object Attributes
$w = [IO.File]::OpenWrite("$PWD/t.bin"); try { New-Object System.IO.Compression.GZipStream($w, 'Decompress') } catch { 'not read' }; $w.Close()
$r = [IO.File]::OpenRead("$PWD/t.bin"); try { New-Object System.IO.Compression.GZipStream($r, 'Compress') } catch { 'not written' }; $r.Close()
