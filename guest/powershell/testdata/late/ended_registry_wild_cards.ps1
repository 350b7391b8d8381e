$p = 'HKLM:\SOFTWARE\*'; Get-ItemProperty $p
