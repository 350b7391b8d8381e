mkdir a/b/c, d | Out-Null
Set-Content a/one.log 1
Set-Content a/b/two.log 2
Set-Content a/b/two.txt 2
Set-Content a/b/c/three.log 3
Set-Content top.log 0
Get-ChildItem -Recurse -Name
'--'
Get-ChildItem -Recurse -File -Name
'--'
Get-ChildItem a -Directory -Recurse -Name
'--'
Get-ChildItem -Filter *.log -Recurse -Name
'--'
Get-ChildItem -Recurse -Include *.log, *.txt -Exclude two* -Name
'--'
Get-ChildItem -Depth 1 -Name
'--'
(Get-ChildItem -Recurse -File | Measure-Object -Property Length -Sum).Sum
Get-ChildItem top.log -Filter *.txt
Get-ChildItem -Filter *.* -Name -File
(Get-ChildItem top.log).Extension
(Get-Item a/b/two.txt).BaseName
Get-ChildItem a -Recurse -Directory
Test-Path a -PathType Leaf
Test-Path a -PathType Container
Test-Path top.log -PathType Leaf
Test-Path top.log -PathType Any
