[System.Net.HttpListener]::IsSupported
$l = [System.Net.HttpListener]::new()
$l.GetContext(); 'after not started'
foreach ($p in 'ftp://x/', 'http://*:80', 'http://*:x/', 'http://:80/') { $l.Prefixes.Add($p) }
$l.Prefixes.Add('http://*:80/'); $l.Prefixes.Add('http://localhost:8080/a/'); $l.Prefixes.Add('http://*:80/'); $l.Prefixes.Contains('http://*:80/'); $l.Prefixes; $l.Prefixes.Count
$l.Start(); $l.Start(); $l.IsListening; $l.IgnoreWriteExceptions; $l.Prefixes.Remove('http://*:80/'); $l.Prefixes.Remove('none'); $l.Prefixes.Add('http://*:81/'); $l.Stop(); $l.IsListening; $l.Prefixes.Clear(); $l.Prefixes.Count
$l.IsListening = $true; 'after read-only'
$l.Start(); $l.Abort(); $l.Start(); 'after closed'; $l.Stop(); $l.Prefixes.Add('http://*:80/'); $l.Dispose(); $l.GetContext(); $l
