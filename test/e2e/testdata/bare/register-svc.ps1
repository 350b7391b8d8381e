# Registers kubelet and kube-proxy as services by nssm.exe. It stands for a script of another project: its parameters
# are that script's, its flags those of today's programs.
Param(
    [parameter(Mandatory = $true)] $ManagementIP,
    [ValidateSet("l2bridge", "overlay", IgnoreCase = $true)] $NetworkMode = "l2bridge",
    [parameter(Mandatory = $false)] $ClusterCIDR = "10.244.0.0/16",
    [parameter(Mandatory = $false)] $KubeDnsServiceIP = "10.96.0.10",
    [parameter(Mandatory = $false)] $LogDir = "C:\k"
)

$Hostname = $(hostname).ToLower()
mkdir -Force $LogDir | Out-Null
cd C:\k

$kubelet = @("--config=C:\k\kubelet.yaml", "--kubeconfig=C:\k\config", "--hostname-override=$Hostname", "--node-ip=$ManagementIP")
nssm.exe install kubelet C:\k\kubelet.exe
$arguments = @('set', 'kubelet', 'AppParameters') + $kubelet
& nssm.exe $arguments
nssm.exe set kubelet AppDirectory C:\k
nssm.exe set kubelet AppStdout "$LogDir\kubelet.log"
nssm.exe set kubelet AppStderr "$LogDir\kubelet.log"
nssm.exe start kubelet

nssm.exe install kube-proxy C:\k\kube-proxy.exe
nssm.exe set kube-proxy AppDirectory C:\k
if ($NetworkMode.ToLower() -eq "l2bridge") {
    nssm.exe set kube-proxy AppEnvironmentExtra KUBE_NETWORK=cbr0
}
nssm.exe set kube-proxy AppParameters --proxy-mode=kernelspace --hostname-override=$Hostname --kubeconfig=C:\k\config --cluster-cidr=$ClusterCIDR
nssm.exe set kube-proxy DependOnService kubelet
nssm.exe start kube-proxy
"registered with the DNS Service $KubeDnsServiceIP"
