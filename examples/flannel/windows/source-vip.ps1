# Reserves the source VIP of a Windows node's kube-proxy.exe, from a HostProcess container: an address of the node's range that no pod gets, as the
# scripts of SIG Windows do. It is reserved anew when the node's range is another.
$ErrorActionPreference = "Stop"
$file = "C:\k\sourceVip.json"
mkdir -Force C:\k | Out-Null

while ($true) {
    $network = Get-HnsNetwork | ? Name -EQ $env:KUBE_NETWORK
    if (-Not $network) {
        Write-Host "Wait for HNS network $env:KUBE_NETWORK"
        Start-Sleep 1
        continue
    }
    $subnet = $network.Subnets[0].AddressPrefix
    $request = '{"cniVersion": "0.2.0", "name": "' + $env:KUBE_NETWORK + '", "ipam": {"type": "host-local", "ranges": [[{"subnet": "' + $subnet + '"}]], "dataDir": "/var/lib/cni/networks"}}'
    if (-Not (Test-Path $file) -Or (Get-Content C:\k\sourceVipRequest.json -Raw).Trim() -NE $request) {
        $env:CNI_CONTAINERID = "source-vip"
        $env:CNI_NETNS = "source-vip"
        $env:CNI_IFNAME = "source-vip"
        $env:CNI_PATH = $env:CNI_BIN_PATH
        # DEL first: this may have been cut short before the file was written.
        $env:CNI_COMMAND = "DEL"
        $request | & $env:CNI_BIN_PATH/host-local.exe
        $env:CNI_COMMAND = "ADD"
        $answer = $request | & $env:CNI_BIN_PATH/host-local.exe
        if ($LASTEXITCODE -NE 0) {
            throw "host-local.exe ended with ${LASTEXITCODE}: $answer"
        }
        Set-Content -Path C:\k\sourceVipRequest.json $request
        Set-Content -Path "$file.new" $answer
        Move-Item -Force "$file.new" $file
        Write-Host "The source VIP is $(($answer | ConvertFrom-Json).ip4.ip)"
    }
    Start-Sleep 10
}
