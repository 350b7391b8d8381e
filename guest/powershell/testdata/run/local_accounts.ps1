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
New-LocalUser kube -NoPassword
try { New-LocalUser kube -NoPassword -ErrorAction Stop } catch { $_.FullyQualifiedErrorId }
$pw = ConvertTo-SecureString 'P@ssw0rd' -AsPlainText -Force
$u = New-LocalUser -Name bob -Password $pw -FullName 'Bob B.' -Description ops -PasswordNeverExpires -AccountNeverExpires
$u.FullName; $u.PasswordRequired; $u.PasswordExpires -eq $null; $u.PasswordLastSet.Year -gt 2000
nlu -Name off -NoPassword -Disabled
Add-LocalGroupMember Administrators bob
Get-LocalGroupMember Administrators
Disable-LocalUser bob; (Get-LocalUser bob).Enabled
elu bob; dlu off; (glu bob).Enabled
Set-LocalUser bob -Description 'more' -FullName 'B' -PasswordNeverExpires $false -Password $pw
slu kube -Description k
(glu bob).Description; ((glu bob).PasswordExpires - (glu bob).PasswordLastSet).Days
Rename-LocalUser bob -NewName robert
rnlu off away
(Get-LocalGroupMember Administrators).Name -join ' '
Remove-LocalUser robert -WhatIf
(glu).Name -join ' '
'robert' | Remove-LocalUser; rlu kube
@(Get-LocalGroupMember Administrators).Count
New-LocalUser 'a/b' -NoPassword
Remove-LocalUser Guest
Enable-LocalUser nobody
New-LocalUser x
(glu).Name -join ' '
