1 | Get-IscsiTarget
