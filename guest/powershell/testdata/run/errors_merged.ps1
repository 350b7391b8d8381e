$all = Get-Item none 2>&1; "$all"; $all.Exception.Message; $all -is [string]; Get-Item none 2>&1
$s = New-SmbGlobalMapping -RemotePath '\\none\data' -Persistent $false 2>&1; "$s"
mkdir made 2>&1 | Out-Null; mkdir made 2>&1 | ForEach-Object { "mkdir: $_" }
function two { 'out'; Get-Item none; Write-Error 'said'; 1 / 0; 'end' }
two 2>&1 | ForEach-Object { "two: $_" }
function inner { $x = two; sh -c 'echo err >&2'; 'inner' }
inner 2>&1 | ForEach-Object { "inner: $_" }
$b = { Get-Item none; 'block' }; & $b 2>&1; (& $b 2>&1).Count
Set-Content merged.ps1 'Get-Item none; "file"'; ./merged.ps1 2>&1 | ForEach-Object { "file: $_" }
two 2>$null | ForEach-Object { "$_"; Get-Item after }
two 2>&1 | ForEach-Object { if ("$_" -eq 'out') { Get-Item after } }
two > two.txt 2>&1; Get-Content two.txt
function outer { (inner 2>$null) -join '+'; Get-Item last }; outer 2>&1 | ForEach-Object { "outer: $_" }
$e = sh -c 'echo one >&2; echo two; echo three >&2' 2>&1; $e[0].GetType().Name; "$e"; $e.Count
try { $ErrorActionPreference = 'Stop'; sh -c 'echo broken >&2; sleep 9' 2>&1 | Out-Null } catch { "caught $_ $($_.Exception.GetType().Name)" }
try { sh -c 'echo broken >&2; sleep 9' 2>&1 } catch { "shown $_" }
try { Get-Item none 2>&1; 'not here' } catch { "stopped $_" }
$ErrorActionPreference = 'SilentlyContinue'; @(sh -c 'echo out; echo err >&2' 2>&1).Count
