# https://learn.microsoft.com/powershell/module/microsoft.powershell.management/get-childitem
mkdir data/in, docs, other | Out-Null
Set-Content data/a.log 1; Set-Content data/in/b.log 1; Set-Content data/in/c.txt 1; Set-Content top.log 1
# wild cards name the folders themselves
dir d* -Name
dir d*, *.log -Name
# with -Recurse a name is looked for everywhere
dir *.log -Recurse -Name
Get-ChildItem data/*.txt, data/*.log -Recurse -File | % Name
gci b.log -Recurse | % Name
ls *.none -Recurse
dir data -Recurse -Include *.txt -Name
# -Include is for what wild cards name, -Exclude for all
dir data/* -Include *.log -Name
dir data -Include *.log -Name
dir data -Exclude *.log -Name
# with -Recurse -Include it is for what is in them, too
dir data/* -Include *.log -Recurse | % Name
dir d* -Include *.txt, a.* -Recurse | % Name
dir d*/* -Exclude *.txt -Include b* -Recurse | % Name
dir top.log -Include *.log -Recurse | % Name
dir top.log -Include *.txt -Recurse | % Name
dir -LiteralPath top.log -Recurse | % Name
dir none/*.log -Recurse
