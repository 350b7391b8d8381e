function inner($x) {
  $n = 1
  if ($x) {
    throw "inner $x"
  }
  Get-Item none -ErrorAction Stop
}
function outer {
  process {
    1, 2 | ForEach-Object {
      inner $_
    }
  }
}
try { outer } catch { $_.ScriptStackTrace }
try { inner } catch { $_.ScriptStackTrace; $Error[0].ScriptStackTrace -eq $_.ScriptStackTrace }
try { [int]::Parse('x') } catch { $_.ScriptStackTrace }
Set-Content trace.ps1 "function filed {`n  1 / 0 }", '$x =', '  filed', '"after"'
try { ./trace.ps1 } catch { $_.ScriptStackTrace; "$_" }
. ./trace.ps1 2>&1 | ForEach-Object { "$_ $($_.ScriptStackTrace)" }
filter f {
  throw 'f' }
filter g { end { throw 'g' } }
foreach ($do in { 1 | f }, { g }, { Invoke-Expression "`nthrow 'text'" }, { Invoke-Command { inner 5 } }) {
  try {
    & $do
  } catch {
    $_.ScriptStackTrace
    try { throw } catch { "again: $($_.ScriptStackTrace -split "`n" | Select-Object -First 1)" }
  }
}
$text = @"
$(
  try { inner 'here' } catch { $_.ScriptStackTrace }
)
"@; $text
trap { "trapped $($_.ScriptStackTrace)"; continue }
Get-Item none 2>$null; $Error[0].ScriptStackTrace
inner 'last'
