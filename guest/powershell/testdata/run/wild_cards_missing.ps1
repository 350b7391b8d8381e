Get-Content none*
Set-Content none* x
ls -Name
echo on
