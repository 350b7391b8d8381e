$x = 'top'
function f { $x = 'own'; $global:y = 'set by f'; "$x $local:x $global:x $script:x ${global:x}" }
f
$y
Set-Content file.ps1 '$count = 1; function add { $script:count += 1 }; add; add; "count $count $script:count"; $global:seen = $script:count; function global:late { "late" }'
./file.ps1
$seen
late
"[$global:nothing]"
$global:a, $script:b = 1, 2
"$a $b"
[int]$global:n = '5'
$n + 1
$global:LASTEXITCODE
$true -eq $global:true
