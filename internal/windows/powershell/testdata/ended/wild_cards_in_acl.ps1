$p = '*'; Get-Acl $p
