# Runs kube-proxy.exe in a HostProcess container, for networks of type l2bridge: on an overlay it would need a source VIP besides.
$ErrorActionPreference = "Stop"
$root = $env:CONTAINER_SANDBOX_MOUNT_POINT

# Volumes are below the mount point, on builds before Windows Server 2022 only there; the kubeconfig names files of one.
Write-Host "Write the kubeconfig with the paths of this container"
mkdir -Force C:\var\lib\kube-proxy | Out-Null
$kubeconfig = "C:\var\lib\kube-proxy\kubeconfig.conf"
((Get-Content -Path $root/mounts/kube-proxy/kubeconfig.conf -Raw) -replace '/var/run', "$($root)/var/run") | Set-Content -Path $kubeconfig

# kube-proxy gives up where there is no network of that name yet.
Write-Host "Wait for HNS network $env:KUBE_NETWORK"
while (-Not (Get-HnsNetwork | ? Name -EQ $env:KUBE_NETWORK)) {
    Start-Sleep 1
}

$arguments = @(`
    "--v=2", `
    "--proxy-mode=kernelspace", `
    "--hostname-override=$env:NODE_NAME", `
    "--network-name=$env:KUBE_NETWORK", `
    "--kubeconfig=$kubeconfig" `
)
$proxy = "$root/kube-proxy/kube-proxy.exe"
$version = $(Invoke-Expression "$proxy --version")
if ($version -match "v([0-9]+)\.([0-9]+)" -And ($Matches.2 -as [int]) -GE 14) {
    $arguments += "--enable-dsr=true"
}
Write-Host "Start $proxy ($version) $arguments"
Invoke-Expression "$proxy $($arguments -join ' ')"
