Get-NetRoute
$na = Get-NetRoute | Where { $_.DestinationPrefix -eq '0.0.0.0/0' } | Select-Object -Property ifIndex
(Get-NetIPAddress -ifIndex $na[0].ifIndex -AddressFamily IPv4).IPAddress
(Get-NetRoute 0.0.0.0/0).NextHop; (Get-NetRoute -InterfaceIndex 1).Publish; (Get-NetRoute -InterfaceAlias vEth* -AddressFamily IPv6).DestinationPrefix; (Get-NetRoute -NextHop 10.244.1.1 -RouteMetric 256).InterfaceAlias; Get-NetRoute -DestinationPrefix 1.2.3.0/24
