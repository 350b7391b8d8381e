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
