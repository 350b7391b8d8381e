# What the kubelet runs for a query of a node's logs (pkg/kubelet/kubelet_server_journal_windows.go of Kubernetes 1.37).
$Env:kubelet_provider0 = 'kubelet'
$Env:kubelet_sinceTime = '2026-1-2 3:4:5'
$Env:kubelet_untilTime = '2027-1-2 3:4:5'
$Env:kubelet_tailLines = '2'
$Env:kubelet_pattern = 'beg.n'
Get-WinEvent -ListProvider kubelet | Format-Table -AutoSize
Get-WinEvent -FilterHashtable @{LogName='Application'; ProviderName=$Env:kubelet_provider0} | Sort-Object TimeCreated | Format-Table -AutoSize -Wrap
Get-WinEvent -FilterHashtable @{LogName='Application'; StartTime="$Env:kubelet_sinceTime"; EndTime="$Env:kubelet_untilTime"; ProviderName=$Env:kubelet_provider0} -MaxEvents $Env:kubelet_tailLines | Sort-Object TimeCreated | Where-Object -Property Message -Match "$Env:kubelet_pattern" | Format-Table -AutoSize -Wrap
Get-WinEvent -ListProvider *Control*, none | ForEach-Object { "$($_.Name) writes to $($_.LogLinks)" }
