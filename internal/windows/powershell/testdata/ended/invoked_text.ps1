Invoke-Expression 'Get-Disk'
