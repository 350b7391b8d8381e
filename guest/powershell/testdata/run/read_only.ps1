Set-Content f x
sh -c 'chmod 444 f'
Set-Content f y
cat f
Set-Content f y -Force
cat f
'z' > f
Remove-Item f
Test-Path f
Set-Content n n
Copy-Item n f
Copy-Item n f -Force
cat f
sh -c 'stat -c %a f'
Remove-Item f -Force
Test-Path f
