# https://learn.microsoft.com/powershell/module/microsoft.powershell.management/test-connection?view=powershell-5.1
Test-Connection server -Count 2
Test-Connection -ComputerName six, 192.0.2.9 -Count 1 -BufferSize 16 -TimeToLive 5 -Delay 1 | Format-List Address, ProtocolAddress, IPV4Address, ResponseTime, StatusCode, TimeToLive
Test-Connection server, silent, none -Quiet -Count 1
if ('server' | Test-Connection -Quiet) { 'reached' }
Test-Connection silent, far, none, broken -Count 1
try { Test-Connection none -Count 1 -ErrorAction Stop } catch [System.Net.NetworkInformation.PingException] { "$_" }
Test-Connection server -Count 0
Test-Connection server -BufferSize 65501
# https://learn.microsoft.com/powershell/module/nettcpip/test-netconnection
Test-NetConnection server
(tnc server).PingReplyDetails.RoundtripTime
tnc silent -InformationLevel Quiet
tnc none -InformationLevel Quiet
Test-NetConnection far | % PingSucceeded
tnc broken
# https://learn.microsoft.com/powershell/module/microsoft.powershell.management/get-hotfix?view=powershell-5.1
Get-HotFix
(Get-HotFix -Id KB5001).InstalledOn.Year
Get-HotFix -Description Sec* | % HotFixID
Get-HotFix KB9
if (-not (Get-HotFix -Id KB1234567 -ErrorAction SilentlyContinue)) { 'not there' }
