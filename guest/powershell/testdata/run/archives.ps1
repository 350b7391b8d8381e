mkdir d/e | Out-Null
Set-Content d/f one
Set-Content d/g two
Set-Content h three
Compress-Archive d, h all
Expand-Archive all.zip
Get-Content all/d/f, all/h
Test-Path all/d/e
Compress-Archive -Path d/* -DestinationPath some.zip -CompressionLevel Fastest
Expand-Archive -Path some.zip -DestinationPath x/y
ls x/y -Name
Compress-Archive d some.zip
Set-Content d/f new
Compress-Archive -LiteralPath d/f -DestinationPath some.zip -Update
Expand-Archive some.zip x/y
Get-Content x/y/f
Expand-Archive some.zip x/y -Force
Get-Content x/y/f
Compress-Archive h some.zip -Force
Expand-Archive some.zip
ls some -Name
Get-ChildItem d | Compress-Archive -DestinationPath piped
'piped.zip' | Expand-Archive -DestinationPath z
ls z -Name
mkdir empty | Out-Null
Compress-Archive empty none
Test-Path none.zip
Compress-Archive absent x.zip
Compress-Archive absent* x.zip
Compress-Archive h absent/x.zip
Compress-Archive h x.rar
Compress-Archive h, H x.zip
Compress-Archive h, h x.zip -Force
Compress-Archive h x.zip -Force -Update
Expand-Archive absent.zip
Expand-Archive d
Expand-Archive h
Expand-Archive all.zip h
Expand-Archive all.zip, some.zip
Set-Content bad.zip word
Expand-Archive bad.zip
Test-Path bad
Compress-Archive h bad.zip -Update
Get-Content bad.zip
try { Expand-Archive bad.zip } catch { "caught: $($_.Exception.Message)" }
try { Compress-Archive h all } catch [System.IO.IOException] { 'there already' }
ls -Name
