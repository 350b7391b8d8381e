$l = '[{"n":"a","v":1},{"n":"b"}]' | ConvertFrom-Json
$l | Select-Object -First 1
$l | select n -First 9
$l | select -ExpandProperty v
('a', 'b' | Select-Object -First 1).Length
