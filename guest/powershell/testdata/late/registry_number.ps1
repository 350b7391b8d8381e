Get-ItemProperty HKLM:\SOFTWARE\Odd
