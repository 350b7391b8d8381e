$l = New-Object System.Net.HttpListener; $l.Prefixes.Add('http://*:80/'); $l.Start()
$r = $l.GetContext().Response; $r.StatusDescription = 'Mine'
