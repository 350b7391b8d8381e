mkdir d | Out-Null
Set-Content d/f x
$l = New-Item -Path l -Type SymbolicLink -Value d/
$l.LinkType
$l.Target
cat l/f
New-Item m -ItemType SymbolicLink -Value none
New-Item l -ItemType SymbolicLink -Value d
New-Item l -ItemType SymbolicLink -Value d/f -Force | Out-Null
cat l
cat d/f
New-Item n -ItemType SymbolicLink -Value ''
sh -c 'ln -s nowhere dangling'; Test-Path dangling; Test-Path dangling -PathType Container; (Get-Item dangling).LinkType; Test-Path dangling/below
