# Makes a node's HNS network and installs the CNI plugin for it, from a HostProcess container.
$ErrorActionPreference = "Stop"
$root = $env:CONTAINER_SANDBOX_MOUNT_POINT

Write-Host "Copy the plugins to $env:CNI_BIN_PATH"
mkdir -Force $env:CNI_BIN_PATH | Out-Null
Copy-Item -Path "$root/network/cni/*" -Destination "$env:CNI_BIN_PATH" -Force

Write-Host "Make the HNS network of this node's range of pod addresses"
$told = & $root/network/network.exe
if ($LASTEXITCODE -ne 0) {
    throw "network.exe ended with $LASTEXITCODE"
}
$node = $told | ConvertFrom-Json

# The configuration is there last: with it the node becomes Ready.
$config = Get-Content $root/mounts/cni/cni.conflist | ConvertFrom-Json
$config.name = $node.network
$config.plugins[0].ipam.ranges[0][0].subnet = $node.subnet
$config.plugins[0].ipam.ranges[0][0].rangeStart = $node.rangeStart
$config.plugins[0].policies[0].value.Settings.Exceptions = $env:POD_SUBNET, $env:SERVICE_SUBNET, $env:NODE_SUBNET
mkdir -Force $env:CNI_CONFIG_PATH | Out-Null
Set-Content -Path $env:CNI_CONFIG_PATH/10-bridge.conflist ($config | ConvertTo-Json -Depth 100)
Write-Host "Pods of this node are on $($node.network), $($node.subnet)"

while ($true) {
    Start-Sleep 3600
}
