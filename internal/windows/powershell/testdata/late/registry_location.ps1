Set-Location HKLM:\SOFTWARE
