Invoke-WebRequest ftp://x/
