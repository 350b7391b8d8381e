echo x | Out-File f -Encoding Unicode
