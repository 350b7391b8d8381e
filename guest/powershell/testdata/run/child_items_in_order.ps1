# Folders come before files, and letters' case does not count.
Set-Content b x
Set-Content C x
mkdir Z, a | Out-Null
Get-ChildItem -Name
Remove-Item env:NONE
