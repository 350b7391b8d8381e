New-Object System.Net.FtpClient
