$j = '{"b": {"list": [{"x": 1}], "n": null}, "A": 1.5}' | ConvertFrom-Json
$j.B.list[0].x = 'eth0', 'eth1'
$j.a += 1
$j.none
$j | ConvertTo-Json -Depth 9 -Compress
