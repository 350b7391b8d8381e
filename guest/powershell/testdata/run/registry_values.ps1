Get-ItemProperty HKLM:\SOFTWARE\Mullion
Get-ItemProperty Registry::HKEY_LOCAL_MACHINE\SOFTWARE\Mullion -Name Version, c*
gp HKLM:\SOFTWARE\Mullion | Select-Object -ExpandProperty '(default)'
(Get-ItemProperty -Path HKLM:\SOFTWARE\Mullion -Name Large).Large
$null -eq (gp HKLM:\SOFTWARE\Mullion).None
(gp HKLM:\SOFTWARE\Mullion).Names[1]
gpv HKLM:\SOFTWARE\Mullion Folder, Bytes
Get-ItemPropertyValue HKLM:\SOFTWARE\Mullion -Name '(default)'
Get-ItemPropertyValue HKLM:\SOFTWARE\Mullion None
Get-ItemProperty HKLM:\SOFTWARE\Mullion -Name None, Count
Get-ItemProperty HKLM:\SOFTWARE\Mullion -Name none*
Get-ItemProperty -LiteralPath HKLM:\SOFTWARE\Mullion -Name V*
Get-ItemProperty HKLM:\SOFTWARE\Mullion\Empty
Get-ItemProperty HKLM:\SOFTWARE\None
Get-ItemProperty HKLM:\SECURITY
Get-ChildItem HKLM:\SOFTWARE | Where-Object PSChildName -eq Mullion | Get-ItemProperty -Name Version | Select-Object Version, PSChildName
"$(gp HKLM:\SOFTWARE\Mullion Version)"
Set-Content f xyz
(Get-ItemProperty f).Name
Get-ItemPropertyValue f -Name Name, Length
Get-ItemProperty none
