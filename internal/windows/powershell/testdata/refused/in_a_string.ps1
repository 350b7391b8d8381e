"$(Get-Disk)"
