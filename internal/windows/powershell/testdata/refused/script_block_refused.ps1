Start-Job { Clear-Disk }
