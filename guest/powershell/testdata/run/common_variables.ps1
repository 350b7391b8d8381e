Get-Item none -ErrorVariable e -ErrorAction SilentlyContinue; $e.Count; "$e"; $e[0].Exception.Message
Get-Item other, third -ErrorAction SilentlyContinue -ev +e; $e.Count
Get-Item none -ErrorVariable e -ErrorAction Ignore; $e.Count; $e -eq $null
try { Get-Item none -ErrorAction Stop -ErrorVariable stopped } catch { "caught $_" }; "$stopped"
Write-Output 1 2 -OutVariable o | ForEach-Object { "$_ of $($o.Count)" }; $o.GetType().FullName; $o.Count; "$o"
Write-Output 3 -ov +o; "$o"; $o.Count; $n = 'one'; Write-Output two -OutVariable +n; "$n"; $l = 1, 2; Write-Output 3 -OutVariable +l; "$l"
1..3 | Where-Object { $_ -gt 1 } -OutVariable big | ForEach-Object { $_ * 10 }; "$big"
function scoped { Write-Output inner -OutVariable o; Write-Output outer -OutVariable script:shared }; scoped; "$o"; "$shared"
Invoke-Command { 'kept'; Get-Item none; sh -c 'echo line' } -ErrorVariable e -OutVariable o -ErrorAction Continue 2>$null; "$($o.Count) $($e.Count) $e"
try { Invoke-Command -ErrorVariable failed -ScriptBlock { param($a, $b) "$a-$b"; throw "no $b" } -OutVariable got -ArgumentList x, y } catch { 'caught' }
 "$got"; "$failed"
Get-Item none -ErrorVariable e 2>&1 | ForEach-Object { Get-Item later -ErrorAction SilentlyContinue }; "$e"
Get-Process -Id 4 -OutVariable p | Out-Null; $p[0].ProcessName
