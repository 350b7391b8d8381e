$c = 'Get-ChildItem'; & $c -Hidden
