Set-Content hns.psm1 'function Get-HnsNetwork { Invoke-HnsRequest }'
ipmo -Force ./hns.psm1 -DisableNameChecking
Import-Module HostNetworkingService
'HostNetworkingService' | Import-Module
while (-Not (Get-HnsNetwork | ? Name -EQ 'CBR0')) { Start-Sleep 1 }
$n = (Get-HnsNetwork | ? Name -EQ "cbr0")
"$($n.Type) $($n.Subnets[0].AddressPrefix)"
(Get-HnsNetwork 7).ID
(Get-HnsEndpoint | ? Name -EQ "Calico_ep").IpAddress
$lists = Get-HnsPolicyList
if ($lists) { $lists | Remove-HnsPolicyList }
Remove-HnsEndpoint e1; Remove-HnsNetwork -InputObject $n
Get-HnsEndpoint e9
