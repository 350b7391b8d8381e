# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_character_encoding
function Bytes($file) { ([IO.File]::ReadAllBytes("$PWD/$file") | ForEach-Object { '{0:x2}' -f $_ }) -join ' ' }
'a' > shown; Bytes shown
'é' >> shown; Bytes shown
'a' | Out-File -FilePath out; Bytes out
'b' | Out-File out -Append -NoNewline; Bytes out
'a' >> new; Bytes new
'' | Out-File empty -NoNewline; Bytes empty
'ab' | Out-File be -Encoding BigEndianUnicode; Bytes be
'é' | Out-File u8 -Encoding utf8; Bytes u8
'é' | Out-File plain -Encoding utf8NoBOM; Bytes plain
'é' | Out-File ascii -Encoding ascii; Bytes ascii
'é' | Out-File ansi -Encoding default; Bytes ansi
'é' | Out-File named -Encoding unicode; Bytes named
'é' | Set-Content set8 -Encoding UTF8; Bytes set8
'é' | Set-Content set; Bytes set
'é' | Add-Content set8 -Encoding utf8; Bytes set8
'a' | Tee-Object -FilePath tee; Bytes tee
/bin/echo native > native; Bytes native
Write-Error wrong 2> errors; (Get-Content errors | Select-Object -First 1).Length -gt 0; (Bytes errors).Substring(0, 5)
& { Write-Warning w } 3> warnings; Get-Content warnings
Get-Content shown; [IO.File]::ReadAllText("$PWD/out"); (Select-String -Path shown -Pattern 'é').LineNumber
"a,b`n1,2" > t.csv; (Import-Csv t.csv).b
'echo "a script of UTF-16"' > s.ps1; ./s.ps1
switch -File shown { a { 'found' } }
'text' | /bin/cat
(Get-Content shown -Encoding ascii) -join ','
