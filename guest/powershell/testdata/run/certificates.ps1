# https://learn.microsoft.com/en-us/powershell/module/pki/import-certificate
@'
-----BEGIN CERTIFICATE-----
MIIBqTCCAU+gAwIBAgIDGis8MAoGCCqGSM49BAMCMDgxCzAJBgNVBAYTAkRFMRAw
DgYDVQQKEwdFeGFtcGxlMRcwFQYDVQQDEw5FeGFtcGxlLCB0cmllZDAeFw0yNDAx
MDIwMzA0MDVaFw00NDAxMDIwMzA0MDVaMDgxCzAJBgNVBAYTAkRFMRAwDgYDVQQK
EwdFeGFtcGxlMRcwFQYDVQQDEw5FeGFtcGxlLCB0cmllZDBZMBMGByqGSM49AgEG
CCqGSM49AwEHA0IABP+OnfcbQUGDAZwovaI11pUtZeJeXSA8bsnLhDPOwnN9skMg
nW4ctAxJf6rhn2URMvb/HlxUsg35hIa+UrhHXUqjSDBGMA8GA1UdEwEB/wQFMAMB
Af8wHQYDVR0OBBYEFArNKw0sBq7YFYqdxWgc2skLqbKaMBQGA1UdEQQNMAuCCWEu
ZXhhbXBsZTAKBggqhkjOPQQDAgNIADBFAiEAptYnpPpuupbHWNMIN7nmvcyc++Bf
ppmC47gsgvBQq4ECIHV4hU7NUy1aFCZo8LAzHtLp+2IwFF27jF8xHANGhrug
-----END CERTIFICATE-----
'@ | Set-Content ca.pem
Import-Certificate -FilePath ca.pem -CertStoreLocation Cert:\LocalMachine\Root
Import-Certificate ca.pem -CertStoreLocation cert:/localmachine/root | Out-Null
$all = @(Get-ChildItem Cert:\LocalMachine\Root); "in it: $($all.Count)"
$c = $all[0]
$c | Format-List
"$($c.SerialNumber) $($c.Version) $($c.DnsNameList.Unicode) $($c.HasPrivateKey) $($c.RawData.Count -gt 100)"
"$($c.GetCertHashString() -eq $c.Thumbprint) $($c.GetSerialNumberString()) $($c.GetRawCertData().Count -eq $c.RawData.Count)"
"$($c.NotAfter.Year) $($c.Verify()) $($c.PSParentPath) $($c.Export('Cert').Count -eq $c.RawData.Count)"
"$($c.GetExpirationDateString().Length -gt 8) $($c.GetEffectiveDateString() -eq $c.NotBefore.ToString('G'))"
"$($c.GetType().FullName)"
Get-ChildItem Cert:\LocalMachine\Root | Where-Object Subject -like '*tried*' | ForEach-Object { $_.PSPath -replace '[0-9A-F]{40}', 'HASH' }
Get-ChildItem Cert:\LocalMachine
Get-ChildItem Cert:\ | ForEach-Object Location
(Get-ChildItem Cert: -Recurse | Where-Object { -not $_.PSIsContainer }).Count
(Get-Item "Cert:\LocalMachine\Root\$($c.Thumbprint)").Subject
(Get-Item Cert:\LocalMachine\Root).Name
Test-Path Cert:\LocalMachine\Root, "Cert:\LocalMachine\Root\$($c.Thumbprint)", Cert:\LocalMachine\None, Cert:\CurrentUser\My\*
Test-Path Cert:\LocalMachine\Root -PathType Leaf
$c | Export-Certificate -FilePath ca.cer -Type CERT | ForEach-Object Name
Export-Certificate -Cert $c -FilePath ca.cer -NoClobber
$d = New-Object System.Security.Cryptography.X509Certificates.X509Certificate2 ca.cer; $d.Thumbprint -eq $c.Thumbprint
[System.Security.Cryptography.X509Certificates.X509Certificate2]::new([IO.File]::ReadAllBytes("$PWD/ca.cer")).Issuer

$s = New-Object System.Security.Cryptography.X509Certificates.X509Store 'My', 'LocalMachine'
try { $s.Add($d) } catch { "$_" }
$s.Open('ReadOnly'); try { $s.Add($d) } catch { "$_" }; $s.Close()
$s.Open([System.Security.Cryptography.X509Certificates.OpenFlags]::ReadWrite); $s.Add($d)
"$($s.Name) $($s.Location) $($s.Certificates.Count)"
$s.Remove($d); "$($s.Certificates.Count)"; $s.Dispose()

Get-Item "Cert:\LocalMachine\Root\$($c.Thumbprint)" | Remove-Item
"left: $(@(Get-ChildItem Cert:\LocalMachine\Root).Count)"
Get-ChildItem Cert:\LocalMachine\None
Remove-Item Cert:\LocalMachine\Root
Get-ChildItem Cert:\LocalMachine\Root -Filter x*
Import-Certificate none.cer -CertStoreLocation Cert:\LocalMachine\Root
Set-Content bad.cer 'no certificate'; Import-Certificate bad.cer -CertStoreLocation Cert:\LocalMachine\Root
Import-Certificate ca.cer -CertStoreLocation Cert:\CurrentUser\CA
Import-Certificate ca.cer -CertStoreLocation Cert:\LocalMachine\None
Import-Certificate ca.cer -CertStoreLocation C:\
try { New-Object System.Security.Cryptography.X509Certificates.X509Certificate2 bad.cer } catch { "$_" }
try { $d.Export('Pfx') } catch { "$_" }
Export-Certificate -Cert $d, $d -FilePath two.cer
Export-Certificate -Cert x -FilePath two.cer
Get-Item ca.cer, Cert:\LocalMachine\Root
