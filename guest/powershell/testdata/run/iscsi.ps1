# What csi-proxy v1.1.3 runs (pkg/os/iscsi/api.go), and what else there is of the module iSCSI.
$Env:iscsi_tp_address = '10.0.0.1'
$Env:iscsi_tp_port = '3260'
$Env:iscsi_target_iqn = 'iqn.2026-11.test:open'
$Env:iscsi_auth_type = 'NONE'
ConvertTo-Json -InputObject @(Get-IscsiTargetPortal | Select-Object TargetPortalAddress, TargetPortalPortNumber)
try { Get-IscsiTargetPortal -TargetPortalAddress ${Env:iscsi_tp_address} -ErrorAction Stop } catch { "$_" }
try { New-IscsiTargetPortal -TargetPortalAddress 10.0.0.2 -ErrorAction Stop } catch { "$_" }
try { New-IscsiTargetPortal -TargetPortalAddress '10.0.0.2;x' -ErrorAction Stop } catch { "$_" }
New-IscsiTargetPortal -TargetPortalAddress ${Env:iscsi_tp_address} -TargetPortalPortNumber ${Env:iscsi_tp_port}
ConvertTo-Json -InputObject @(Get-IscsiTargetPortal | Select-Object TargetPortalAddress, TargetPortalPortNumber)
ConvertTo-Json -InputObject @(Get-IscsiTargetPortal -TargetPortalAddress ${Env:iscsi_tp_address} -TargetPortalPortNumber ${Env:iscsi_tp_port} | Get-IscsiTarget | Select-Object -ExpandProperty NodeAddress)
Get-IscsiTarget
Connect-IscsiTarget -TargetPortalAddress ${Env:iscsi_tp_address} -TargetPortalPortNumber ${Env:iscsi_tp_port} -NodeAddress ${Env:iscsi_target_iqn} -AuthenticationType ${Env:iscsi_auth_type}
$ErrorActionPreference = "Stop"; $tp = Get-IscsiTargetPortal -TargetPortalAddress ${Env:iscsi_tp_address} -TargetPortalPortNumber ${Env:iscsi_tp_port}; $t = $tp | Get-IscsiTarget | Where-Object { $_.NodeAddress -eq ${Env:iscsi_target_iqn} }; $c = Get-IscsiConnection -IscsiTarget $t; $ids = $c | Get-Disk | Select -ExpandProperty Number | Out-String -Stream; ConvertTo-Json -InputObject @($ids)
$ErrorActionPreference = 'Continue'
$t.IsConnected
$c
(Get-IscsiSession -IscsiTarget $t).IsPersistent
Get-IscsiSession | Register-IscsiSession
(Get-IscsiSession -IscsiConnection $c).IsPersistent
Unregister-IscsiSession -SessionIdentifier (Get-IscsiSession).SessionIdentifier
(Get-IscsiSession).IsPersistent
(Get-Disk -iSCSISession (Get-IscsiSession)).BusType
(Get-IscsiSession | Get-IscsiTarget).NodeAddress
(Get-IscsiTarget iqn.2026-11.test:open | Get-IscsiTargetPortal).TargetPortalAddress
Get-InitiatorPort
$port = Get-InitiatorPort -InstanceName 'ROOT\ISCSIPRT\0000_0'
@(Get-IscsiTarget -InitiatorPort $port).Count
(Get-IscsiTarget -IscsiTargetPortal $tp).NodeAddress
(Get-IscsiSession -IscsiTargetPortal $tp).TargetNodeAddress
(Get-IscsiSession -InitiatorPort $port).TargetNodeAddress
(Get-IscsiConnection -TargetAddress 10.0.0.1).ConnectionIdentifier
(Get-IscsiConnection -IscsiTargetPortal $tp).ConnectionIdentifier
(Get-IscsiConnection -InitiatorPort $port).ConnectionIdentifier
"$(1, 'a' | Out-String -Stream)|"
Update-IscsiTarget
Update-HostStorageCache
Get-IscsiTargetPortal | Update-IscsiTargetPortal
try { Disconnect-IscsiTarget -InputObject (Get-IscsiTarget | Where-Object { $_.NodeAddress -eq 'none' }) -Confirm:$false } catch { "$_" }
Disconnect-IscsiTarget -InputObject (Get-IscsiTargetPortal -TargetPortalAddress ${Env:iscsi_tp_address} -TargetPortalPortNumber ${Env:iscsi_tp_port}  | Get-IscsiTarget | Where-Object { $_.NodeAddress -eq ${Env:iscsi_target_iqn} }) -Confirm:$false
@(Get-IscsiSession).Count
# CHAP
$guarded = 'iqn.2026-11.test:guarded'
try { Connect-IscsiTarget -NodeAddress $guarded -ErrorAction Stop } catch { "$_" }
try { Connect-IscsiTarget -NodeAddress $guarded -AuthenticationType ONEWAYCHAP -ChapUsername me -ChapSecret short -ErrorAction Stop } catch { "$_" }
try { Connect-IscsiTarget -NodeAddress $guarded -ChapSecret hush-of-the-test -ErrorAction Stop } catch { "$_" }
try { Connect-IscsiTarget -NodeAddress $guarded -AuthenticationType MUTUALCHAP -ChapUsername me -ChapSecret hush-of-the-test -ErrorAction Stop } catch { "$_" }
Set-IscsiChapSecret -ChapSecret target-hush-test
(Get-IscsiTarget -NodeAddress $guarded | Connect-IscsiTarget -AuthenticationType MutualChap -ChapUsername me -ChapSecret hush-of-the-test -IsPersistent $true -ReportToPnP $true -IsMultipathEnabled $false -IsDataDigest $false -IsHeaderDigest $false).AuthenticationType
(Get-IscsiTarget -NodeAddress $guarded).IsConnected
Disconnect-IscsiTarget -NodeAddress $guarded -Confirm:$false
try { Connect-IscsiTarget -NodeAddress 'iqn.2026-11.test:a b' } catch { "$_" }
try { Connect-IscsiTarget -NodeAddress $guarded -TargetPortalPortNumber 70000 -ErrorAction Stop } catch { "$_" }
Get-IscsiTargetPortal -TargetPortalAddress ${Env:iscsi_tp_address} -TargetPortalPortNumber ${Env:iscsi_tp_port} | Remove-IscsiTargetPortal -Confirm:$false
@(Get-IscsiTarget).Count
# a disk of the pipeline, with a letter for its volume
(Get-Disk -Number 1 | Initialize-Disk -PassThru | New-Partition -UseMaximumSize -DriveLetter R).DriveLetter
