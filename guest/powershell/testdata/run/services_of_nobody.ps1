# the script of csi-proxy for a service without a name: not all services
Get-Service -Name kubelet | Select-Object DisplayName, Status, StartType | ConvertTo-JSON
Stop-Service -Name $env:ServiceName -Force:$([System.Convert]::ToBoolean($env:Force))
Stop-Service -Name ''
Start-Service -Name @('kubelet', $null)
(Get-Service | Where-Object Status -EQ Running).Name
$env:ServiceName = 'kubelet'; $env:Force = 'true'
Stop-Service -Name $env:ServiceName -Force:$([System.Convert]::ToBoolean($env:Force))
Get-Service kubelet | Where-Object { $_.Status -ne 'Running' -and $_.StartType -eq 'Automatic' } | ForEach-Object Name
