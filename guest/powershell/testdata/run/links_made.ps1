# https://learn.microsoft.com/powershell/module/microsoft.powershell.management/new-item
mkdir d | Out-Null; Set-Content d/f.txt 'in it'
New-Item -ItemType Junction -Path j -Target d | ForEach-Object { $_.Name }
Get-Content j/f.txt
New-Item -ItemType HardLink -Path h.txt -Value d/f.txt | Out-Null; Set-Content h.txt 'changed'; Get-Content d/f.txt
New-Item -ItemType Junction -Path k -Target d/f.txt
New-Item -ItemType HardLink -Path i -Target d
New-Item -ItemType Junction -Path l -Target nosuch
Test-Path k, i, l
Set-Content kept.txt 'kept'
New-Item -ItemType Junction -Path kept.txt -Target d/f.txt -Force
Get-Content kept.txt
New-Item -ItemType Junction -Path d/below -Target d | Out-Null; Test-Path d/below/f.txt
