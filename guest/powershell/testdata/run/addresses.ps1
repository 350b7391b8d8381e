$u = New-Object System.Uri 'http://Example.com:8080/a%20b/c?d=e%26f#g'
$u.AbsolutePath; $u.LocalPath; $u.AbsoluteUri; $u.OriginalString; $u.Scheme; $u.Host; $u.Authority; $u.Port; $u.IsDefaultPort; $u.Query; $u.PathAndQuery; $u.Fragment; $u.Segments -join ' '; $u.IsAbsoluteUri; "$u"
$v = [uri]'https://x'; "$v"; $v.Port; $v.IsDefaultPort; $v.Fragment.Length; $v -eq [uri]'https://x/'; $v.Port = 5; 'after port'
New-Object System.Uri 'nothing'; 'after uri'
$a = [System.Net.IPAddress]::Parse('10.0.0.1'); $a.AddressFamily; $a.IPAddressToString; $a.GetAddressBytes() -join '.'; $a.IsIPv6LinkLocal; $a.IsIPv6Multicast; $a.IsIPv4MappedToIPv6; "$a"; $a
([ipaddress]'fe80::1').IsIPv6LinkLocal; ([ipaddress]'fe80::1').AddressFamily; [System.Net.IPAddress]::Any; [ipaddress]::Loopback; [ipaddress]::IPv6Any; [ipaddress]::IPv6Loopback; [ipaddress]::IsLoopback([ipaddress]'127.0.0.2'); [ipaddress]::Parse('x'); 'after address'
'x' -as [ipaddress] -eq $null; [ipaddress]$null -eq $null

