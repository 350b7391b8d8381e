(Get-Disk -Number 0) | Set-Disk -IsOffline $false
