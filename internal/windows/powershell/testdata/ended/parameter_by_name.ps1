$c = 'Get-ChildItem'; & $c -Recurse
