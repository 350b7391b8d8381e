mkdir d | Out-Null
Set-Content d/f x
Remove-Item d
Test-Path d
Remove-Item d -Recurse
Test-Path d
Remove-Item none
