# The DaemonSet of windows_exporter opens its port so.
New-NetFirewallRule -DisplayName 'windows-exporter' -Direction inbound -Profile Any -Action Allow -LocalPort 9182 -Protocol TCP | Select-Object DisplayName, Enabled, Direction
New-NetFirewallRule -Name kubelet -DisplayName 'kubelet' -Enabled True -Direction Inbound -Protocol TCP -Action Allow -LocalPort 10250
New-NetFirewallRule -Name kubelet -DisplayName 'again'
(Get-NetFirewallRule).Count; (Get-NetFirewallRule -DisplayName kube*).Name; Get-NetFirewallRule -DisplayName nothing; Get-NetFirewallRule -Name no*
(Get-ItemProperty HKLM:\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules).kubelet
Set-NetFirewallProfile -Profile Domain, Public, Private -Enabled False
Remove-NetFirewallRule -Name kubelet; Get-NetFirewallRule -Name kubelet -ErrorAction SilentlyContinue; $?
New-NetFirewallRule -Name all -DisplayName all -Description words -Group g -Enabled False -Profile Domain, Private -Direction Outbound -Protocol 17 -LocalPort 1, 2 -RemotePort 53 -LocalAddress Any -RemoteAddress 10.0.0.0/8 -Program C:\a.exe -Service s | Out-Null
(Get-ItemProperty HKLM:\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules).all
Get-NetFirewallRule -Enabled False -Direction Outbound -Action Allow
Remove-NetFirewallRule -DisplayName a*; Set-NetFirewallProfile -All -Enabled False
