# https://learn.microsoft.com/en-us/powershell/module/dnsclient/get-dnsclientserveraddress
Get-DnsClientServerAddress
Get-DnsClientServerAddress -AddressFamily IPv4 | Select-Object -ExpandProperty ServerAddresses
(Get-DnsClientServerAddress -InterfaceAlias vEthernet* | Where-Object AddressFamily -eq 2).ServerAddresses
Get-DnsClientServerAddress -InterfaceIndex 27 -AddressFamily IPv6 | Format-List
Get-DnsClientServerAddress none
Get-DnsClientServerAddress -AddressFamily IPv5
