& 'Get-Disk'
