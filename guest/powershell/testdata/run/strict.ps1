"[$nothing]"
function loose { "[$nothing]" }
function strict { Set-StrictMode -Version Latest; loose; 'not reached?' }
strict
"[$nothing]"
Set-StrictMode -Version 1.0
"[$nothing]"
$o = [pscustomobject]@{A = 1}
"[$($o.B)]"
Set-StrictMode -Version 2.0
$o.B
$o.A
(1, 2)[5]
Set-StrictMode -Version 3.0
(1, 2)[5]
(1, 2)[-2]
$env:NOTHING
try { $nothing } catch { "caught: $_" }
$null; $args.Count; $true
Set-StrictMode -Off
"[$nothing]"
