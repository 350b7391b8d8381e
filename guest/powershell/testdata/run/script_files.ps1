Set-Content lib.ps1 'param($x) "lib $x"; function f { 1 }; exit 4'
./lib.ps1 one
$LASTEXITCODE
"$?"
& ./lib.ps1 -x two
f
