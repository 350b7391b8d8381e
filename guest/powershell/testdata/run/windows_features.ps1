# https://learn.microsoft.com/powershell/module/servermanager and …/module/dism: a feature is there by its service
Get-WindowsFeature PowerShell, Containers, Nothing | Format-Table Name, InstallState, Installed
if (-not (Get-WindowsFeature -Name Containers).Installed) { 'no containers' }
Install-WindowsFeature Containers
$null = New-Service -Name vmcompute -BinaryPathName x
$r = Install-WindowsFeature -Name Containers -IncludeManagementTools -Restart:$false
"$($r.Success) $($r.RestartNeeded) $($r.ExitCode)"
(Get-WindowsFeature -ComputerName localhost | Where-Object Installed).Name
(Add-WindowsFeature PowerShell -IncludeAllSubFeature).ExitCode
Add-WindowsFeature Web-Server
Install-WindowsFeature No-Such
'Telnet-Client' | Uninstall-WindowsFeature | ForEach-Object ExitCode
Remove-WindowsFeature PowerShell -Remove -IncludeManagementTools -Restart
try { Install-WindowsFeature Hyper-V -ErrorAction Stop } catch { $_.FullyQualifiedErrorId }

Get-WindowsOptionalFeature -Online -FeatureName Containers, Microsoft-Hyper-V
(Get-WindowsOptionalFeature -Online -FeatureName Containers).State -eq 'Enabled'
(Enable-WindowsOptionalFeature -Online -FeatureName Containers -All -NoRestart).RestartNeeded
Enable-WindowsOptionalFeature -Online -FeatureName Microsoft-Hyper-V -All -NoRestart -LimitAccess
Enable-WindowsOptionalFeature -Online -FeatureName Nothing
Disable-WindowsOptionalFeature -Online -FeatureName SMB1Protocol -NoRestart -Remove
Disable-WindowsOptionalFeature -Online -FeatureName Containers
