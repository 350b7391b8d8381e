# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_break
# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_continue
:red while ($true) {
    :yellow while ($true) {
        'inner'
        break red
    }
    'never'
}
:outer foreach ($i in 1..3) {
    foreach ($j in 1..3) {
        if ($j -eq 2) { continue OUTER }
        "$i $j"
    }
    'never'
}
:top
for ($i = 0; $i -lt 3; $i++) {
    do {
        switch ($i) {
            1 { continue top }
            2 { break top }
            default { "first $_" }
        }
        break
    } while ($true)
    "after $i"
}
$where = 'again'
:again do {
    :again switch (1, 2) { 1 { break $where } 2 { 'never' } }
    'the nearest of a name'
    foreach ($x in 1) { break "again" }
    'never'
} until ($false)
:numbers switch (1..4) {
    2 { foreach ($x in 1) { continue numbers } 'never' }
    4 { while ($true) { break numbers } }
    default { "number $_" }
}
function leave { foreach ($x in 1) { break far } 'never' }
:far foreach ($i in 1..2) { leave; 'never' }
try { ':' + 'done' } finally { foreach ($x in 1, 2) { try { continue } finally { "end $x" } } }
& { :far foreach ($i in 1) { break } }
try { :noloop 5 } catch { $_.FullyQualifiedErrorId }
break nowhere
'not reached'
