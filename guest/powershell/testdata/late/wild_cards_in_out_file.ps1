echo x | Out-File '[a]'
