# https://learn.microsoft.com/powershell/module/microsoft.powershell.management/get-psdrive
Get-PSDrive -PSProvider FileSystem | Format-Table Name, Root, Free
(Get-PSDrive).Name -join ' '
(gdr C).Used
Get-PSDrive HK* | % Root
try { Get-PSDrive -Name Q -ErrorAction Stop } catch { "$_"; $_.FullyQualifiedErrorId }
# https://learn.microsoft.com/powershell/module/nettcpip/get-netipconfiguration
Get-NetIPConfiguration | % { "$($_.InterfaceAlias) $($_.IPv4Address.IPAddress) via $($_.IPv4DefaultGateway.NextHop) $($_.DNSServer.ServerAddresses)" }
Get-NetIPConfiguration
(gip -All).Count -ge 1
(Get-NetIPConfiguration -InterfaceIndex 99 -ErrorAction SilentlyContinue).Count
Get-NetIPConfiguration -InterfaceAlias none
Clear-DnsClientCache
