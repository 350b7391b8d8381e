Set-Content lib.ps1 'param($of = 1); $shared = $of * 2; function Get-Twice($n) { $n * 2 }; "root $PSScriptRoot"; "args $args"'
. ./lib.ps1
$shared
Get-Twice 21
. "$PWD/lib.ps1" 5 six
$shared
$file = './lib.ps1'
. $file -of 7
$shared
"[$PSScriptRoot]"
. { $inner = 'stays'; return; 'not here' }
$inner
. {
  function local { 'a function of a block' }
}
local
Set-Content outer.ps1 '. $PSScriptRoot/lib.ps1; Get-Twice 4'
./outer.ps1
