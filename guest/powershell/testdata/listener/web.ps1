# asks the server at $env:ADDRESS, which shows each request
$u = "http://$env:ADDRESS"
$r = Invoke-WebRequest "$u/show?a=1" -UseBasicParsing; $r.StatusCode; $r.StatusDescription; $r.Content; $r.Headers['X-Answer']; $r.RawContentLength -eq $r.Content.Length
(iwr -Uri "$u/show" -Method Post -Body 'text ä' -ContentType 'text/plain; charset=utf-8' -Headers @{ 'X-Mine' = 'yes'; Host = 'other' } -UserAgent me).Content
(curl "$u/show" -Method PUT -Body @{ a = 'x y'; b = 2 }).Content; (wget "$u/show?q=0" -Body @{ a = 'x y' } -TimeoutSec 30).Content; (Invoke-WebRequest "$u/show" -Method Post -Body 'a=1' -DisableKeepAlive).Content
Invoke-WebRequest "$u/bytes" -OutFile file; (Get-Item file).Length; (Invoke-WebRequest "$u/bytes").Content -join ','; (Invoke-WebRequest "$u/latin").Content; (Invoke-WebRequest "$u/redirect").Content; (Invoke-WebRequest "$u/redirect" -MaximumRedirection 0).StatusCode
(Invoke-RestMethod "$u/json").items[1].name; (irm "$u/json" -Method Get).count; Invoke-RestMethod "$u/latin"; Invoke-RestMethod "$u/json" -OutFile json; Get-Content json; Invoke-RestMethod "$u/nothing"
try { Invoke-WebRequest "$u/missing" } catch [System.Net.WebException] { $_.Exception.Message }
try { Invoke-RestMethod "$u/missing" } catch { $_.Exception.Response.StatusCode.value__; $_.Exception.Response.StatusCode; $_.Exception.Response.StatusDescription }
try { Invoke-RestMethod 'http://127.0.0.1:1/' } catch { if ($_.Exception.Response.StatusCode.value__ -eq 401) { 'known' } else { $_.Exception.Response -eq $null } }
try { Invoke-WebRequest 'http://no.such.invalid/' } catch { $_.Exception.Message }
try { Invoke-WebRequest 'http://127.0.0.1:1/' } catch { $_.Exception.Message }
try { Invoke-WebRequest "$u/slow" -TimeoutSec 0.05 } catch { $_.Exception.Message }
Invoke-WebRequest "$u/missing"; 'goes on'
$parts = $env:ADDRESS -split ':'
$t = Test-NetConnection $parts[0] -Port $parts[1]; $t.TcpTestSucceeded; $t.RemoteAddress; $t.RemotePort -eq $parts[1]; tnc -ComputerName 127.0.0.1 -Port 1 -InformationLevel Quiet; Test-NetConnection no.such.invalid -Port 1 -InformationLevel Quiet
$w = New-Object Net.WebClient; $w.Headers.Add('X-Mine', 'client'); $w.DownloadString("$u/show"); $w.UploadString("$u/show", 'posted'); $w.UploadString("$u/show", 'PUT', 'put'); $w.DownloadString("$u/latin")
$w.Headers['Host'] = 'other'; $w.DownloadString("$u/show"); $w.DownloadData("$u/bytes") -join ','; $w.DownloadFile("$u/bytes", 'fetched'); (Get-Item fetched).Length; $w.Encoding = [Text.Encoding]::UTF8; $w.Encoding.WebName
try { $w.DownloadString("$u/missing") } catch [System.Net.WebException] { $_.Exception.Message; $_.Exception.InnerException.Message }
try { $w.DownloadFile("$u/bytes", 'no/such/folder') } catch { $_.Exception.Message }; try { $w.Encoding = 'utf8' } catch { $_.Exception.Message }; try { $w.DownloadFile("$u/missing", 'none') } catch { Test-Path none }; $w.Dispose()
Invoke-Expression ((New-Object System.Net.WebClient).DownloadString("$u/script")); added 2
Invoke-RestMethod "$u/xml"
try { Invoke-RestMethod "$u/refused" } catch {
  [int]$_.Exception.Response.StatusCode; $_.Exception.Response.ContentType; ($_.ErrorDetails.Message | ConvertFrom-Json).reason
  $r = New-Object System.IO.StreamReader($_.Exception.Response.GetResponseStream()); $r.ReadToEnd(); $r.Close(); "$_"
}
try { Invoke-WebRequest "$u/page" -UseBasicParsing } catch { $_.ErrorDetails.Message; $_.Exception.Message }
try { (New-Object Net.WebClient).DownloadString("$u/refused") } catch { $_.Exception.InnerException.Response.StatusDescription; $null -eq $_.ErrorDetails }
Invoke-RestMethod "$u/refused"
