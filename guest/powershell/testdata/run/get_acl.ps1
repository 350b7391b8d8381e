Set-Content f x
Get-Acl f
$a = Get-Acl -LiteralPath f
$a.Owner
$a.Access[2].FileSystemRights
$a.AreAccessRulesProtected
Get-Acl none
Get-Acl f | Format-List
