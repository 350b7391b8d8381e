# Installs flannel's CNI plugins on a Windows node and runs flanneld.exe, from a HostProcess container.
$ErrorActionPreference = "Stop"
$root = $env:CONTAINER_SANDBOX_MOUNT_POINT

Write-Host "Copy the plugins to $env:CNI_BIN_PATH and the configurations"
mkdir -Force $env:CNI_BIN_PATH | Out-Null
mkdir -Force $env:CNI_CONFIG_PATH | Out-Null
mkdir -Force C:\etc\kube-flannel | Out-Null
Copy-Item -Path "$root/flannel/cni/*" -Destination "$env:CNI_BIN_PATH" -Force
Copy-Item -Path "$root/mounts/flannel/net-conf.json" -Destination C:\etc\kube-flannel\net-conf.json -Force
Copy-Item -Path "$root/mounts/flannel/cni-conf.json" -Destination "$env:CNI_CONFIG_PATH/10-flannel.conf" -Force

# flanneld finds the service account where a container of another kind would have it.
Write-Host "Write the kubeconfig with the paths of this container"
$kubeconfig = "C:\etc\kube-flannel\kubeconfig.conf"
((Get-Content -Path "$root/mounts/flannel/kubeconfig.conf" -Raw) -replace '/var/run', "$($root)/var/run") | Set-Content -Path $kubeconfig

$masquerade = (Get-Content -Path "$root/mounts/flannel/ip-masq" -Raw).Trim()
Write-Host "Start flanneld.exe on $env:NODE_IP"
& "$root/flannel/flanneld.exe" --kube-subnet-mgr --kubeconfig-file=$kubeconfig --iface=$env:NODE_IP --ip-masq=$masquerade -v=2
exit $LASTEXITCODE
