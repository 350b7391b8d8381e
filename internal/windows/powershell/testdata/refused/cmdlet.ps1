Get-Disk -Class x
