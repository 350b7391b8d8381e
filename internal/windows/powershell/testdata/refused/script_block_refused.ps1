Start-Job { Get-Disk }
