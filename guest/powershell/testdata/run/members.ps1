[pscustomobject]@{Name = 'a'; Size = 1} | Get-Member
Get-Process -Id 4 | gm
'text' | Get-Member -Name To*
1.5, 'x' | Get-Member -MemberType Property
Get-Date | Get-Member -MemberType Properties -Name D*
@() | Get-Member
Get-Service kubelet | Get-Member | Select-Object -First 1 -ExpandProperty TypeName
Get-Item . | Get-Member | Select-Object -First 1 -ExpandProperty TypeName
