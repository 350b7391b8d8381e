Get-Help
Get-Help Start-Sleep
help ls
man nothing
'gal' | Get-Help
