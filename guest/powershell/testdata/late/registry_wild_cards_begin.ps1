Get-ItemProperty a, "HKLM:\*\$x"
