$l = New-Object System.Net.HttpListener; $l.Prefixes.Add('https://*/')
