New-ItemProperty HKLM:\SOFTWARE\Mullion x -Value 1, 2
