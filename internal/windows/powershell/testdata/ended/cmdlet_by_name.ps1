$c = 'Get-Disk'; & $c
