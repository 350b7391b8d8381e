Get-NetAdapter
(Get-NetAdapter).MacAddress; Get-NetAdapter -Name 'vEth*' | ForEach-Object { $_.LinkSpeed }; (Get-NetAdapter -InterfaceIndex 27).Status; (Get-NetAdapter -InterfaceDescription 'Hyper*').ifIndex; Get-NetAdapter none; Get-NetAdapter no*
Get-NetAdapter | Get-NetIPAddress
$ip = (Get-NetAdapter | Get-NetIPAddress); $ip[1].IPAddress; $ip.Count
Get-NetIPAddress | ForEach-Object { $_.IPAddress }
(Get-NetIPAddress -AddressFamily IPv4 -InterfaceAlias 'vEthernet (Ethernet)').IPAddress; (Get-NetIPAddress -InterfaceIndex 1 -PrefixLength 8).IPAddress; (Get-NetIPAddress 10.244.*).IPv4Address
(Get-NetIPAddress | Where-Object { $_.IPAddress -Like '*.*.*.*' })[0].IPAddress; (Get-NetIPAddress -PrefixOrigin Manual -SuffixOrigin Link -AddressState Preferred).IPv6Address; Get-NetIPAddress -IPAddress 1.2.3.4
Get-NetAdapter | ? Name -Like 'vEthernet (Ethernet*' | Select-Object -ExpandProperty Name
(Get-NetIPAddress -ifAlias Loopback* -Type Unicast)[0].ValidLifetime.Days

