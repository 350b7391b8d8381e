New-ItemProperty HKLM:\SOFTWARE x -PropertyType Unknown -Value 1
