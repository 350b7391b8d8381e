# Microsoft's file is known by a function; versions differ in which they have.
Set-Content hns.psm1 'Function  Invoke-HNSRequest { }'
Import-Module ./hns.psm1
mkdir kube | Out-Null
Set-Content kube/hns.psm1 'function Get-HnsNetwork { }'
Import-Module -Force "kube/hns.psm1"
'./hns.psm1', 'hostnetworkingservice' | ipmo
(Get-HnsNetwork)[1].Name
