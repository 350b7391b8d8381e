$p = 'HKCU:\Software\Test'
New-Item $p | Out-Null
New-ItemProperty $p text -Value 'a b'
New-ItemProperty -Path $p -Name expand -PropertyType ExpandString -Value '%COMPUTERNAME%!' | Out-Null
New-ItemProperty $p number -PropertyType DWord -Value 0x10 | Out-Null
New-ItemProperty $p most -Type DWORD -Value 4294967295 | Out-Null
New-ItemProperty $p minus -PropertyType DWord -Value -1 | Out-Null
New-ItemProperty $p long -PropertyType QWord -Value '5000000000' | Out-Null
New-ItemProperty $p list -PropertyType MultiString -Value a, b | Out-Null
New-ItemProperty $p bytes -PropertyType Binary -Value 1, 255 | Out-Null
New-ItemProperty $p empty -PropertyType Binary | Out-Null
New-ItemProperty $p nothing | Out-Null
gp $p
New-ItemProperty $p text -Value again
New-ItemProperty $p text -Value again -Force | Out-Null
Set-ItemProperty $p number 17
Set-ItemProperty -Path $p -Name LIST -Value c
Set-ItemProperty $p number word
sp $p made 5
Set-ItemProperty $p made2 5000000000
Set-ItemProperty $p made3 $true
Set-ItemProperty $p '(default)' whole
Set-ItemProperty $p expand '%COMPUTERNAME%?'
Set-ItemProperty $p long 1.5 -Type String -Force
gp $p
New-ItemProperty $p bad -PropertyType DWord -Value abc
New-ItemProperty $p bad -PropertyType DWord -Value 4294967296
New-ItemProperty $p bad -PropertyType DWord -Value 1, 2
New-ItemProperty $p bad -PropertyType Binary -Value 256
New-ItemProperty $p bad -PropertyType Binary -Value abc
New-ItemProperty $p bad -PropertyType QWord -Value 99999999999999999999
New-ItemProperty $p bad -PropertyType QWord -Value '-1x'
New-ItemProperty HKCU:\None bad -Value 1
Set-ItemProperty HKCU:\None bad 1
Set-ItemProperty HKLM:\SECURITY bad 1
Remove-ItemProperty $p made*
rp $p bytes, empty
Remove-ItemProperty $p none
Remove-ItemProperty $p '(default)'
Remove-ItemProperty HKCU:\None a
Get-Item $p | Set-ItemProperty -Name text -Value piped
(Get-Item $p).Property -join ' '
gpv $p text
