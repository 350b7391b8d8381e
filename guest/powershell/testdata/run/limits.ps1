# What PowerShell answers with an error must not end the process: calls without an end in each of their forms, lists that
# contain themselves, texts and lists larger than memory, and pipelines without an end (Select-Object -First ends them).
$forms = @(
    { function f { f }; f }
    { $b = { 1 | ForEach-Object $b }; & $b }
    { $b = { . $b }; . $b }
    { $s = 'iex $s'; iex $s }
    { $b = { switch (1) { $b { 2 } } }; & $b }
    { function g { "$(g)" }; g }
    { $b = { 1 | Where-Object $b }; & $b }
    { function v { param([ValidateScript({ v $_ })]$x) }; v 1 }
    { class C { [int] M() { return $this.M() } }; [C]::new().M() }
    { class D { D() { [D]::new() } }; [D]::new() }
)
foreach ($one in $forms) { try { & $one; 'no error' } catch { $_.FullyQualifiedErrorId } }
$l = [System.Collections.ArrayList]::new(); [void]$l.Add($l)
"$l"; $l; $l -eq $l; ($l | ConvertTo-Json -Depth 2 -Compress).Length -gt 0
$h = @{}; $h.self = $h; "$h"; $h | Out-String | Out-Null
$o = [pscustomobject]@{ a = 1; list = 1, 2 }; $o.a = $o; "$o"
foreach ($one in { 'a' * 2000000000 }, { 'ab' * 99999999999 }, { , 1 * 99999999999 }, { (, ('a' * 1000000) * 2000) -join '' },
    { ('a' * 1000000).Replace('a', 'b' * 100000) }, { 'a'.PadLeft(2000000000) }, { 1..99999999999 }) {
    try { (& $one).Length } catch { ($_.Exception.InnerException, $_.Exception -ne $null)[0].GetType().Name }
}
(1, 2) * 3 -join ''
('ab' * 3)
$a = 1; foreach ($i in 1..20000) { $a = , $a }
"$a"
1, (2, 3), @{} -join ','
& { while ($true) { 'again' } } | Select-Object -First 2
function endless { begin { $n = 0 } process { try { while ($true) { $n++; $n } } finally { 'ended' | Out-Host } } }
endless | ForEach-Object { $_ * 2 } | Where-Object { $_ -gt 4 } | Select-Object -Skip 1 -First 2
$first = 1; 1..2000000000 | Select-Object -First $first
1..3 | Select-Object -First 5
(1..10 | Sort-Object -Descending | Select-Object -First 2) -join ' '
foreach ($x in 1..2) { 1..5 | Select-Object -First 1 | ForEach-Object { "$x $_" } }
try { 'a' * -1 } catch { "$_" }
