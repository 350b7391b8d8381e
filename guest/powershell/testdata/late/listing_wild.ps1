Get-ChildItem d*/*.log -Recurse
