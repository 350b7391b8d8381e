# as Kubernetes' install-ssh.psm1 removes its rule
if (Get-NetFirewallRule -ErrorAction SilentlyContinue sshd) { 'there' } else { 'none' }
New-NetFirewallRule -Name sshd -DisplayName 'OpenSSH' -Protocol TCP -LocalPort 22 | Out-Null
Get-NetFirewallRule sshd | % DisplayName
Get-NetFirewallRule sshd | Remove-NetFirewallRule
if (Get-NetFirewallRule -ErrorAction SilentlyContinue sshd) { 'there' } else { 'none' }
@() | Remove-NetFirewallRule
Stop-Service kubelet -NoWait
(Get-Service kubelet).Status
