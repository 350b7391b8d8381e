& 'Clear-Disk'
