Get-Item none 2>$null; echo on
function f { Get-Item none }
f 2>$null
sh -c 'echo out; echo err >&2' 2>$null
sh -c 'echo out; echo err >&2' 2>&1
