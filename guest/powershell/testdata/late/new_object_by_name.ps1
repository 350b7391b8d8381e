$n = 'System.Net.FtpClient'; New-Object $n
