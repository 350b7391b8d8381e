Param(
    [parameter(Mandatory = $true)] [string] $masterIp
)

# The routes of a node without a router for its pods, as the handbook's script of this name makes them: to the pods of
# each node by the bridge's adapter and by the host's own, to this node's pods on the link, and to the control plane.

function
Add-Routes($adapter, $metric = 300)
{
    while (!$ranges) {
        $ranges = Get-PodCIDRs
        Write-Host "ranges: $ranges"
    }

    foreach ($range in $ranges)
    {
        $words = $range.Split(" ")
        $system = $words | select -First 1
        $prefix = $words | select -Last 1
        $hop = $prefix.substring(0, $prefix.lastIndexOf(".")) + ".1"
        if ($system -eq "windows") {
            $hop = $prefix.substring(0, $prefix.lastIndexOf(".")) + ".2"
        }

        $there = get-netroute -InterfaceAlias "$adapter" -DestinationPrefix $prefix -erroraction Ignore
        if (!$there) {
            new-netroute -InterfaceAlias "$adapter" -DestinationPrefix $prefix -NextHop $hop -RouteMetric $metric -Verbose
        }
    }
}

$bridge = "vEthernet (cbr0)"
ipmo c:\k\helper.psm1

netsh int ipv4 set int "$bridge" for=en
Add-Routes -adapter $bridge -metric 250

$na = Get-NetAdapter | ? Name -Like "vEthernet (Ethernet*" | ? Status -EQ Up
if (!$na)
{
    Write-Error "There is no adapter of the host."
    exit 1
}
Add-Routes -adapter $na.InterfaceAlias -metric 300

$own = Get-PodCIDR
get-NetRoute -DestinationPrefix $own -InterfaceAlias $na.InterfaceAlias | Remove-NetRoute -Confirm:$false
new-NetRoute -DestinationPrefix $own -NextHop 0.0.0.0 -InterfaceAlias $na.InterfaceAlias -RouteMetric 300

$route = Get-NetRoute -DestinationPrefix "$masterIp/32" -erroraction Ignore
if (!$route)
{
    $gateway = Get-MgmtDefaultGatewayAddress
    Write-Host "A route to $masterIp by $gateway"
    New-NetRoute -DestinationPrefix "$masterIp/32" -NextHop $gateway -InterfaceAlias $na.InterfaceAlias -Verbose
}
