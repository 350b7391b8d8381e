# Makes csi-proxy.exe a service of this Windows host, as its README does (https://github.com/kubernetes-csi/csi-proxy). The program lies at $program.
$ErrorActionPreference = "Stop"
$program = "C:\etc\kubernetes\node\bin\csi-proxy.exe"
if (-Not (Test-Path $program)) {
    throw "There is no $program"
}
mkdir -Force C:\etc\kubernetes\logs | Out-Null
$flags = "-windows-service -log_file=C:\etc\kubernetes\logs\csi-proxy.log -logtostderr=false"
sc.exe create csiproxy start= "auto" binPath= "$program $flags"
sc.exe failure csiproxy reset= 0 actions= restart/10000
sc.exe start csiproxy
exit $LASTEXITCODE
