mkdir d | Out-Null
Set-Content d/f xyz
Set-Content f x
ls
ls d -Name
(Get-Item d).PSIsContainer
Get-ChildItem none
gi f
