function f($a, [int]$b = 1, [switch]$c) { "$a/$b/$c" }
$p = @{ a = 'x'; b = 5; c = $true }
f @p; $l = 'y', 7; f @l; f @l -c; f z @{ b = 1 }.Count
$file = @{ Path = 'file'; Value = 'content' }; Set-Content @file; Get-Content file
function g { f @args }; g 1 2
$words = 'one', 'two three'; sh -c 'echo "$#:$1"' - @words
$q = @{ Property = 'a' }; [pscustomobject]@{ a = 1; b = 2 } | Select-Object @q

