# what flanneld runs
$ErrorActionPreference="Stop";try { New-NetRoute -InterfaceIndex 27 -DestinationPrefix 10.244.9.0/24 -NextHop  10.244.1.9 } catch { Write-Host $_; os.Exit(-1) }
$ErrorActionPreference="Stop";try { ConvertTo-Json (@(Get-NetRoute -InterfaceIndex 27 -DestinationPrefix 10.244.9.0/24 | Select-Object -Property IfIndex,DestinationPrefix,NextHop)) } catch { Write-Host $_; os.Exit(-1) }
$ErrorActionPreference="Stop";try { Remove-NetRoute -InterfaceIndex 27 -DestinationPrefix 10.244.9.0/24 -NextHop 10.244.1.9 -Verbose -Confirm:$false } catch { Write-Host $_; os.Exit(-1) }
try { Set-NetIPInterface -ifIndex 27 -AddressFamily IPv4 -Forwarding Enabled } catch { Write-Host $_; os.Exit(-1) }
try { ConvertTo-Json (Get-NetIPInterface -ifIndex 27 -AddressFamily IPv4 | Select-Object -Property Forwarding) } catch { Write-Host $_; os.Exit(-1) }
$ErrorActionPreference="Continue"
Get-NetRoute 10.244.9.0/24
New-NetRoute 10.244.8.0/24 -InterfaceAlias 'vEthernet (Ethernet)' -RouteMetric 5 -PolicyStore ActiveStore | Out-Null
New-NetRoute 10.244.8.0/24 -InterfaceIndex 27
Get-NetRoute 10.244.8.0/24 | Remove-NetRoute
(Get-NetRoute -RouteMetric 256).DestinationPrefix
New-NetRoute 10.244.8.1/24 -InterfaceIndex 27
New-NetRoute 10.244.8.0/24 -InterfaceIndex 99
New-NetRoute 10.244.8.0/24 -InterfaceIndex 27 -NextHop nowhere
New-NetRoute 10.244.8.0/24 -InterfaceIndex 27 -RouteMetric 10000
Get-NetIPInterface
try { New-NetRoute fd00::/64 -InterfaceIndex 27 } catch { $_ }
