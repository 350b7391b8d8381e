Set-Variable -Name a -Value 1; sv b 2, 3; set c x -PassThru; 'piped', 'two' | Set-Variable d; "$a $b $c $d"
New-Variable a 5; nv e 5; New-Variable -Name a -Value 6 -Force; "$a $e"
(Get-Variable a).Value; gv a -ValueOnly; Get-Variable [ab] | ForEach-Object { "$($_.Name)=$($_.Value)" }; Get-Variable nothere; Get-Variable true -ValueOnly
function f { $a = 'inner'; Set-Variable a outer -Scope 1; Set-Variable -Name g -Value 'global' -Scope global; Get-Variable a -Scope 1 -ValueOnly; $a }; f; "$a $g"
Clear-Variable a; $null -eq $a; clv e; Remove-Variable b, e; rv nothere; $null -eq $b; rv c -Force; Clear-Variable g -Force
