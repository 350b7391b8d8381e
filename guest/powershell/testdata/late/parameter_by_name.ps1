$c = 'Get-ChildItem'; & $c -UseTransaction
