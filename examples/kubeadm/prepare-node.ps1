# Prepares a bare Windows host (docs/guide/bring-your-own.md) for `kubeadm.exe join`, as SIG Windows' PrepareNode.ps1 does once it has fetched the
# programs: Path, folders, a script that starts the kubelet with the flags that kubeadm writes, and nssm's service that runs the script.
$ErrorActionPreference = 'Stop'

$path = [Environment]::GetEnvironmentVariable('Path', 'Machine')
if ($path -notlike '*C:\k*') {
    [Environment]::SetEnvironmentVariable('Path', "$path;C:\k", 'Machine')
}

foreach ($folder in 'C:\var\log\kubelet', 'C:\var\lib\kubelet\etc\kubernetes', 'C:\etc\kubernetes\pki', 'C:\etc\kubernetes\manifests') {
    mkdir -Force $folder | Out-Null
}
$link = 'C:\var\lib\kubelet\etc\kubernetes\pki'
if (-not (Test-Path $link)) {
    New-Item -Path $link -ItemType SymbolicLink -Value C:\etc\kubernetes\pki | Out-Null
}

Set-Content -Path C:\k\StartKubelet.ps1 -Value @'
$line = Get-Content -Path C:\var\lib\kubelet\kubeadm-flags.env
$flags = $line.Replace('KUBELET_KUBEADM_ARGS=', '').Trim('"')
Invoke-Expression "C:\k\kubelet.exe $flags --cert-dir=C:\var\lib\kubelet\pki --config=C:\var\lib\kubelet\config.yaml --bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf --kubeconfig=C:\etc\kubernetes\kubelet.conf --hostname-override=$(hostname) --cgroups-per-qos=false --enforce-node-allocatable=none"
'@

nssm.exe install kubelet (Get-Command powershell).Source -ExecutionPolicy Bypass -NoProfile C:\k\StartKubelet.ps1
nssm.exe set kubelet AppStdout C:\var\log\kubelet\kubelet.out.log
nssm.exe set kubelet AppStderr C:\var\log\kubelet\kubelet.err.log
nssm.exe set kubelet AppRotateFiles 1
nssm.exe set kubelet AppRotateOnline 1
nssm.exe set kubelet AppRotateBytes 10485760
New-NetFirewallRule -Name kubelet -DisplayName kubelet -Direction Inbound -Protocol TCP -Action Allow -LocalPort 10250 | Out-Null
