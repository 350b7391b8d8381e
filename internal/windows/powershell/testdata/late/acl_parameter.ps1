Get-Acl -Audit x
