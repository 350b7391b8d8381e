Get-WmiObject -Class x
