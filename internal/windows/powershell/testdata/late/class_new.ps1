[System.Net.FtpClient]::new()
