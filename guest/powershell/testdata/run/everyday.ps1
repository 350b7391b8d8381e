Set-ExecutionPolicy Bypass -Scope Process -Force; Get-ExecutionPolicy; Add-Type -AssemblyName System.IO.Compression.FileSystem
Set-Content f 'abc' -NoNewline; Get-FileHash f | ForEach-Object { "$($_.Algorithm) $($_.Hash)" }; (Get-FileHash f -Algorithm MD5).Hash; (Get-FileHash -LiteralPath f -Algorithm sha1).Hash; Unblock-File f; Get-FileHash missing; Unblock-File missing
(New-TimeSpan -Days 1 -Hours 2 -Minutes 3 -Seconds 4).TotalSeconds; (New-TimeSpan '2024-01-01' '2024-01-03').Days; (New-TimeSpan -Start '2024-01-01 00:00' -End '2023-12-31 23:00').TotalHours
mkdir one/two | Out-Null; Push-Location one; pushd two; (Get-Location).Path -like '*two'; Pop-Location; popd; Test-Path one; popd; Push-Location missing; Pop-Location; Test-Path f
Invoke-Command { param($x, $y) "$x-$y" } -ArgumentList 1, 2; icm -ScriptBlock { $args.Count } -args a, b, c; 1, 2 | Invoke-Command { $input.Count }
Compare-Object 1, 2, 3 2, 3, 4; compare a, B a, b -IncludeEqual -ExcludeDifferent | ForEach-Object { "$($_.InputObject) $($_.SideIndicator)" }; diff a, B a, b -CaseSensitive -PassThru
'x', 'y' | Compare-Object x; Compare-Object @([pscustomobject]@{n = 1; m = 2}) @([pscustomobject]@{n = 2; m = 2}) -Property n, m
1, 1, 2, 1, 'A', 'a' | Get-Unique; 'A', 'a' | gu -AsString; Out-Host -InputObject 'shown'; $x = 'also' | oh; $null -eq $x
(ConvertFrom-StringData "a = 1`n# c`n`nb=c:\\d\n")['b']; ("x=y" | ConvertFrom-StringData).x
[uint32]'4294967295'; [uint32]-1; ([Net.IPAddress]'10.0.0.1').ToString()
