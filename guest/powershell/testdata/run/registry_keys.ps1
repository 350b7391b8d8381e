Test-Path HKLM:\SOFTWARE\Mullion
Test-Path HKLM:/Software/none, Registry::HKEY_USERS\.DEFAULT
Test-Path -LiteralPath 'HKLM:\SOFTWARE\[a]*'
Test-Path HKLM:\SECURITY
New-Item HKCU:\Software\New | Out-Null
New-Item -Path HKCU:\Software\New -Name Child -Value first
New-Item HKCU:\Software\New
New-Item HKCU:\Software\No\Way
New-Item HKCU:\Software\No\Way -Force -ItemType Directory | Out-Null
New-Item Registry::HKCU\Software\New -Force -Value 7
Get-ChildItem HKCU:\Software -Name
Get-ChildItem HKCU:\Software
ls HKLM:\None
Get-ChildItem HKLM:\SOFTWARE | ForEach-Object { $_.PSPath }
Get-Item HKLM:\SOFTWARE\Odd
$k = Get-Item HKLM:\SOFTWARE\Mullion
$k
"$k has $($k.SubKeyCount) and $($k.ValueCount), $($k.PSIsContainer): $($k.Property)"
$k.PSChildName, $k.PSParentPath, "$($k.PSDrive)", "$($k.PSProvider)"
$k.GetValue('version') + $k.GetValue('') + $k.GetValue('none', '-')
$k.GetValueNames() -join ','
$k.GetSubKeyNames()
$null -eq $k.GetValue('none')
(Get-Item HKLM:\SOFTWARE\Mullion\Empty).GetValue('a')
(gi HKCU:).Name
Get-Item HKLM:\SECURITY
Remove-Item HKCU:\Software\No
Remove-Item HKCU:\Software\No -Recurse
Remove-Item HKCU:\Software\New, HKCU:\Software\None
Get-ChildItem HKLM:\SOFTWARE | Remove-Item -Recurse -Force
Get-ChildItem HKLM:\SOFTWARE -Name
Remove-Item HKLM:\ -Recurse
New-Item HKCU:\ -Force
New-Item HKLM:\SECURITY\x
try { Get-Item HKLM:\None -ErrorAction Stop } catch [System.Management.Automation.ItemNotFoundException] { "caught $_" }
