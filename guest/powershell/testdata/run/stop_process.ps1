Stop-Process -Id 12 -PassThru
Stop-Process 12
Get-Process kube* | Stop-Process -Force
Stop-Process -Name System
kill -Name nothing
spps 99
Get-Process
Wait-Process -Id 4 -Timeout 0
Wait-Process -Name nothing
Get-Process | Wait-Process -Timeout 0 -ErrorAction SilentlyContinue
