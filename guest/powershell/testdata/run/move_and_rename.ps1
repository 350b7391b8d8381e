mkdir from/deep, to | Out-Null
Set-Content from/a.txt a
Set-Content from/b.txt b
Move-Item from/a.txt to
Move-Item from/b.txt to/c.txt
Get-ChildItem to -Name
Set-Content d.txt d
Move-Item d.txt to/c.txt
Get-Content to/c.txt
Move-Item d.txt to/c.txt -Force
Get-Content to/c.txt
Test-Path d.txt
Move-Item from to
Test-Path to/from/deep -PathType Container
Move-Item to to/from
Move-Item nothing to
Move-Item to/a.txt no/where
Move-Item to/*.txt .
Get-ChildItem -Name
Rename-Item a.txt z.txt
Rename-Item z.txt c.txt
Rename-Item z.txt x/y
Rename-Item nothing y
Get-ChildItem *.txt | Rename-Item -NewName { $_.BaseName + '.log' }
Get-ChildItem -Name
Resolve-Path *.log
(Resolve-Path z.log).Path
Resolve-Path nothing
Resolve-Path *.nothing
mv c.log k; mi k l; move l m; ren m n; rni n o
rvpa o
