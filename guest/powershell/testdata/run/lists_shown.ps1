$o = '{"name":"a","n":{"x":1}}' | ConvertFrom-Json
$o
"$o"
$o.n
