# https://learn.microsoft.com/en-us/powershell/module/nettcpip/get-nettcpconnection
Get-NetTCPConnection
Get-NetTCPConnection -State Listen | Select-Object LocalAddress, LocalPort
Get-NetTCPConnection -State Established, TimeWait -RemotePort 443 | Format-List
(Get-NetTCPConnection -LocalPort 80 -ErrorAction SilentlyContinue).OwningProcess
Get-NetTCPConnection 10.244.* 80 | ForEach-Object { "$($_.RemoteAddress):$($_.RemotePort) $($_.State)" }
Get-NetTCPConnection -OwningProcess 40 -RemoteAddress :: | Measure-Object | ForEach-Object Count
Get-NetTCPConnection -LocalPort 99
try { Get-NetTCPConnection -LocalPort 70000 } catch { "$_" }
try { Get-NetTCPConnection -RemotePort http } catch { "$_" }
Get-NetUDPEndpoint
Get-NetUDPEndpoint -LocalPort 53 | Select-Object -ExpandProperty OwningProcess
Get-NetUDPEndpoint -LocalAddress ::1 -OwningProcess 40 | Format-List
