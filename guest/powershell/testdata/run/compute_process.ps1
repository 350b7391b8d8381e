$vms = Get-ComputeProcess | Where-Object { ($_.Type -EQ 'VirtualMachine') -and ($_.Owner -EQ 'containerd-shim-runhcs-v1.exe') } ; if ($vms.Length -le 0) { throw 'error' }
$vms.Id
(Get-ComputeProcess).Count
(Get-ComputeProcess -Type Container -Owner me | Measure-Object).Count
Get-ComputeProcess c9
