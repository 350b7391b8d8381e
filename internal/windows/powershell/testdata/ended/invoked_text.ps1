Invoke-Expression 'Clear-Disk'
