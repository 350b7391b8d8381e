switch (2) { 1 { 'one' } 2 { 'two' } 2 { 'two again' } default { 'other' } }
switch ('x') { 'X' { 'no case' } default { 'other' } }
switch -CaseSensitive ('x') { 'X' { 'wrong' } x { 'word' } }
switch -Wildcard ('kubelet') { 'kube*' { 'kube' } '*let' { 'let' } 'none*' { 'none' } }
switch -Regex ('node-12') { '^node-(\d+)$' { "number $($Matches[1])" } default { 'none' } }
switch (1, 2, 3, 4) { 1 { 'first' } { $_ -gt 2 } { "big $_"; break } default { "default $_" } }
switch (1..4) { 2 { continue } default { $_ } }
switch ('a') { 'b' { 1 } }
$v = switch ('5') { 5 { 'five' } }; $v
switch -Exact ('a*') { 'a*' { 'exact' } }
foreach ($i in 1..2) { switch ($i) { 1 { continue } }; "after $i" }
switch ($null) { $null { 'nothing' } default { 'default' } }
switch ($true) { $false { 'no' } $true { 'yes' } }

