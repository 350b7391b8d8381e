# A range is an array of whole numbers (about_Operators): what an array does, it does.
$a = 1..3 + 5
"$a"
(1..3) + 5 -join ','
$a = 1..3
$a += 4
"$a"
$a[1] = 9
"$a"
"$(1..2 * 2)"
"$((1..3) * 2)"
"$(1..5 -gt 3)"
"$((1..3) -ne 2)"
"$(1..20 -like '1*')"
"$(8..11 -match '^1')"
$a.GetType().Name
try { $b = 1..2147483647 } catch { $_.Exception.GetType().Name }
foreach ($i in 1..2147483647) { if ($i -gt 2) { break }; $i }
