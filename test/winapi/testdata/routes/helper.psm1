function
Get-PodCIDR()
{
    return c:\k\kubectl.exe --kubeconfig=c:\k\config get nodes/$($(hostname).ToLower()) -o custom-columns=podCidr:.spec.podCIDR --no-headers
}

function
Get-PodCIDRs()
{
    return c:\k\kubectl.exe --kubeconfig=c:\k\config get nodes -o=custom-columns=Name:.status.nodeInfo.operatingSystem,PODCidr:.spec.podCIDR --no-headers
}

function
Get-MgmtDefaultGatewayAddress()
{
    $adapter = Get-NetAdapter | ? Name -Like "vEthernet (Ethernet*"
    return (Get-NetRoute -InterfaceAlias $adapter.ifAlias -DestinationPrefix "0.0.0.0/0").NextHop
}
