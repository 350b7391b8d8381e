Set-Content Dog.txt x
$acl = Get-Acl Dog.txt
$acl.AddAccessRule([System.Security.AccessControl.FileSystemAccessRule]::new("Everyone", "Read", "Allow"))
$acl.AddAccessRule([System.Security.AccessControl.FileSystemAccessRule]::new("Everyone", "Delete", "Deny"))
# One rule in the place of all of an account.
$acl.ResetAccessRule([System.Security.AccessControl.FileSystemAccessRule]::new("Everyone", "Write", "Allow"))
$acl.Access | ForEach-Object { "$($_.IdentityReference.Value) $($_.AccessControlType) $($_.FileSystemRights)" }
# All of an account that allow, whatever they allow.
$acl.RemoveAccessRuleAll([System.Security.AccessControl.FileSystemAccessRule]::new("Everyone", "Read", "Allow"))
$acl.Access.Count
# A file's own rules, and those that it inherits.
foreach ($r in $acl.GetAccessRules($true, $false, [System.Security.Principal.NTAccount])) { "own: $($r.IdentityReference.Value)" }
foreach ($r in $acl.GetAccessRules($false, $true, [System.Security.Principal.NTAccount])) { "inherited: $($r.IdentityReference.Value)" }
