Get-Process
(Get-Process kube*).Id
Get-Process -Id 12, 99
Get-Process -Name none, kubelet
Get-Process none*
