'x' | Get-NetIPAddress
