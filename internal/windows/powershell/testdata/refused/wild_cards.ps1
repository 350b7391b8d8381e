Get-Acl *
