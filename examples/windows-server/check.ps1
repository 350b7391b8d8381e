# Says of a real Windows Server that mullion-agent.exe has joined what only such a server can show (docs/windows-server.md). Run it as
# administrator on the server, after `mullion-agent.exe join`. It ends kubelet.exe once, to see it come back, and
# changes nothing else. The agent itself has been tried under Wine only.
param([string]$Agent = '.\mullion-agent.exe')
$script:failed = 0

function Check([string]$Name, [scriptblock]$Test) {
    try { $seen = & $Test; $good = $true } catch { $seen = $_.Exception.Message; $good = $false }
    if ($good) { Write-Host "pass  $Name  $seen" } else { $script:failed++; Write-Host "FAIL  $Name  $seen" }
}

Check 'the agent calls the node Ready' {
    $status = & $Agent status -o json | ConvertFrom-Json
    if (-not $status.ready) { throw $status.reason }
    "$($status.node), kubelet $($status.kubeletVersion)"
}
foreach ($name in 'containerd', 'kubelet', 'kube-proxy') {
    Check "service $name runs, and starts with the server" {
        $service = Get-CimInstance Win32_Service -Filter "Name='$name'"
        if (-not $service) { throw 'there is none' }
        if ($service.State -ne 'Running' -or $service.StartMode -ne 'Auto') { throw "$($service.State), $($service.StartMode)" }
        "process $($service.ProcessId)"
    }
    Check "service $name is started again after a failure" {
        $actions = sc.exe qfailure $name | Out-String
        if ($actions -notmatch 'RESTART') { throw $actions }
        'three times, then every 30 s'
    }
}
Check 'kubelet.exe comes back after it was ended' {
    $before = (Get-Process kubelet).Id
    Stop-Process -Name kubelet -Force
    foreach ($second in 1..60) {
        Start-Sleep 1
        $now = (Get-Process kubelet -ErrorAction SilentlyContinue).Id
        if ($now -and $now -ne $before) { return "after $second s" }
    }
    throw 'not within a minute'
}
Check 'only administrators and the system reach the kubelet''s key' {
    $others = (Get-Acl C:\var\lib\kubelet\pki).Access | Where-Object { "$($_.IdentityReference)" -notmatch 'SYSTEM$|Administrators$' }
    if ($others) { throw "$($others.IdentityReference)" }
    'C:\var\lib\kubelet\pki'
}
Check 'the firewall lets the kubelet''s port in' {
    $rule = Get-NetFirewallRule -Name mullion-agent-kubelet -ErrorAction Stop
    if ("$($rule.Enabled)" -ne 'True') { throw 'the rule is off' }
    'TCP 10250'
}
Check 'HNS has the pods'' network, with the card''s address on its switch' {
    $network = Get-HnsNetwork | Where-Object Name -eq cbr0
    if (-not $network) { throw 'there is no cbr0' }
    if (-not $network.ManagementIP) { throw 'cbr0 has no management address' }
    "$($network.Subnets.AddressPrefix), management address $($network.ManagementIP)"
}
Check 'the kubelet answers on the node''s address' {
    $address = (Get-HnsNetwork | Where-Object Name -eq cbr0).ManagementIP
    if (-not (Test-NetConnection $address -Port 10250 -InformationLevel Quiet)) { throw "nobody on $address" }
    $address
}
Check 'containerd runs a pod of this node' {
    $pods = Get-HnsEndpoint | Where-Object { $_.VirtualNetworkName -eq 'cbr0' -and $_.Name -notlike '*_ep' }
    if (-not $pods) { throw 'no pod has an address: run one on the node, and this script again' }
    "$(@($pods).Count) pod(s)"
}
Write-Host "$script:failed failed"
exit [int]($script:failed -gt 0)
