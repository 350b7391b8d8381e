echo x | Out-File f -Encoding UTF7
