# https://learn.microsoft.com/powershell/module/microsoft.powershell.management/new-psdrive
mkdir top/deep | Out-Null
Set-Content top/a.txt one
(New-PSDrive -Name Data -PSProvider FileSystem -Root top -Description 'my data').Description
Get-Content Data:/a.txt
Get-ChildItem data:\ -Name
Test-Path data:\deep, data:\none
Set-Content data:/b.txt two; 'three' | Out-File data:/c.txt -Encoding ascii; "four" > data:/d.txt
Copy-Item data:/a.txt data:/deep
Get-ChildItem data: -Recurse -File -Name
(Get-PSDrive Data).Provider
cd data:/deep; Get-ChildItem -Name; cd ../..
# the drive that scripts make most
New-PSDrive HKU Registry HKEY_USERS | Format-Table Name, Provider, Root
New-PSDrive -Name Made -PSProvider Registry -Root HKLM:\SOFTWARE | Out-Null
(Get-Item made:\Mullion).Name
Get-ChildItem made: -Name
Test-Path made:\none
# what goes wrong
New-PSDrive -Name Data -PSProvider FileSystem -Root .
New-PSDrive Q FileSystem none
New-PSDrive Q Registry HKLM:\none
New-PSDrive a:b FileSystem .
Remove-PSDrive C
Remove-PSDrive none
Get-PSDrive made, data | Remove-PSDrive -Force -Scope Global; rdr HKU
Get-Content data:/a.txt
'x' > data:/e.txt
ndr -Name Data -PSProvider FileSystem -Root . -Scope Script | % Name
mount Other FileSystem . | % Name
