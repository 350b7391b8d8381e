Get-ChildItem *.log -Recurse
