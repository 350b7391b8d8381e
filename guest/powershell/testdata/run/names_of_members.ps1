$o = '{"example.com/name": "n", "a b": {"c": 5}}' | ConvertFrom-Json; $o.'example.com/name'; $o."a b".c; $k = 'a b'; $o.$k.'c'; $o.("a" + " b").c
Write-Output $o.'example.com/name' $o.$k.c; "$($o.'example.com/name')"; $o.'none' -eq $null
$o.'example.com/name' = 'set'; $o.$k = 7; $o.'a b'++; $o."example.com/$('name')"; $o.'a b'; ' x '.'Trim'(); $m = 'ToUpper'; 'x'.$m()
$t = @{ 'x.y' = 1 }; $t.'x.y'; $t.'z w' = 2; $t.'z w'; $t.("x.$('y')")
