$c = 'Clear-Disk'; & $c
