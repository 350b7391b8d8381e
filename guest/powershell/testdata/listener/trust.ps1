# A server whose certificate nobody knows, as that of a cluster's API is in a pod.
$url = "https://$env:ADDRESS/json"
try { Invoke-RestMethod $url } catch { $_.Exception.GetType().FullName; $_.Exception.Message }
[System.Net.ServicePointManager]::SecurityProtocol = [System.Net.SecurityProtocolType]::Tls12
[System.Net.ServicePointManager]::ServerCertificateValidationCallback = { $true }
(Invoke-RestMethod -Uri $url -Headers @{ Authorization = 'Bearer t' }).count
(Invoke-WebRequest $url -UseBasicParsing).StatusCode
(New-Object System.Net.WebClient).DownloadString($url)
[Net.ServicePointManager]::ServerCertificateValidationCallback = { param($from, $certificate, $chain, $problems) $script:seen = "$($certificate.Subject): $problems"; $false }
try { Invoke-RestMethod $url } catch { $_.Exception.Message }
$seen
[Net.ServicePointManager]::ServerCertificateValidationCallback = { param($s, $c, $h, $p) $p -eq 'RemoteCertificateChainErrors' }
(Invoke-RestMethod $url).items[1].name
[Net.ServicePointManager]::ServerCertificateValidationCallback = $null
$null -eq [Net.ServicePointManager]::ServerCertificateValidationCallback
try { Invoke-RestMethod $url } catch { $_.Exception.Message }
try { [Net.ServicePointManager]::ServerCertificateValidationCallback = 'yes' } catch { $_.Exception.Message }
# who knows of one problem hears of the other (https://learn.microsoft.com/dotnet/api/system.net.security.sslpolicyerrors)
$other = $url.Replace('127.0.0.1', 'localhost')
[Net.ServicePointManager]::ServerCertificateValidationCallback = { param($s, $c, $h, $p) $p -eq [System.Net.Security.SslPolicyErrors]::RemoteCertificateNameMismatch }
try { Invoke-RestMethod $other } catch { $_.Exception.Message }
# where a redirection leads counts
[Net.ServicePointManager]::ServerCertificateValidationCallback = { param($s, $c, $h, $p) $script:all += "$p; "; $true }
$all = ''; (Invoke-RestMethod $url.Replace('/json', "/to?$other")).count; $all
$all = ''; (Invoke-RestMethod $other.Replace('/json', "/to?$url")).count; $all
# a callback ends before the script goes on
[Net.ServicePointManager]::ServerCertificateValidationCallback = { Start-Sleep -Milliseconds 1500; $script:asked = 'asked'; $true }
try { Invoke-RestMethod $url -TimeoutSec 1 } catch { $_.Exception.Message; $asked }
