# https://learn.microsoft.com/powershell/module/microsoft.powershell.localaccounts: as net localgroup shows them
Get-LocalGroup Administrators, Users
(Get-LocalGroup -Name 'Remote*').Name
New-LocalGroup -Name hns-admins -Description 'may change networks'
Add-LocalGroupMember -Group hns-admins -Member Administrator, 'NT AUTHORITY\NETWORK SERVICE'
Get-LocalGroupMember hns-admins
(Get-LocalGroupMember -Group hns-admins -Member HOST-1\administrator).Name
Set-LocalGroup hns-admins -Description other
(glg hns-admins).Description
Add-LocalGroupMember hns-admins Administrator
algm hns-admins nobody
'Administrator' | Remove-LocalGroupMember -Group hns-admins
rlgm hns-admins Guest
@(glgm hns-admins).Count
nlg hns-admins
Remove-LocalGroup hns-admins
try { Get-LocalGroup hns-admins -ErrorAction Stop } catch { "$($_.CategoryInfo.Category): $_" }
try { Get-LocalGroupMember hns-admins -ErrorAction Stop } catch { $_.FullyQualifiedErrorId }
rlg Administrators
slg none -Description x
New-LocalGroup "a`tb"
Get-LocalUser | Format-Table Name, Enabled
(glu Administrator).Description
Get-LocalUser nobody
try { New-LocalUser kube -NoPassword } catch { "$_" }
