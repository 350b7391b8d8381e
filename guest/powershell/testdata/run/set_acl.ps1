Set-Content Dog.txt x
Set-Content Cat.txt x
function Show($path) {
  $a = Get-Acl $path
  "$path $($a.Owner) $($a.AreAccessRulesProtected) $($a.Sddl)"
  $a.Access | ForEach-Object { "  $($_.IdentityReference.Value) $($_.AccessControlType) $($_.FileSystemRights) $($_.IsInherited) $($_.InheritanceFlags) $($_.PropagationFlags)" }
}
# A rule with three arguments, and the same once more.
$acl = Get-Acl Dog.txt
$rule = New-Object System.Security.AccessControl.FileSystemAccessRule("Everyone", "Read", "Allow")
$rule.FileSystemRights
$acl.AddAccessRule($rule)
$acl.AddAccessRule((New-Object System.Security.AccessControl.FileSystemAccessRule("Everyone", "Write", "Allow")))
$acl.AddAccessRule([System.Security.AccessControl.FileSystemAccessRule]::new("users", "Delete", "Deny"))
$acl.Access.Count
Show Dog.txt
Set-Acl -Path Dog.txt -AclObject $acl
Show Dog.txt
# Inheritance, as names, as a value and as a sum.
$both = [System.Security.AccessControl.InheritanceFlags]::ContainerInherit -bor [System.Security.AccessControl.InheritanceFlags]::ObjectInherit
$none = [System.Security.AccessControl.PropagationFlags]::None
$rule = New-Object System.Security.AccessControl.FileSystemAccessRule "SYSTEM", "ReadAndExecute, Write", $both, $none, ([System.Security.AccessControl.AccessControlType]::Allow)
$acl = Get-Acl Cat.txt
$acl.SetAccessRule($rule)
$acl.SetAccessRuleProtection($true, $false)
Set-Acl Cat.txt $acl
Show Cat.txt
# What is removed: rights, an entry, an account's entries.
$acl = Get-Acl Dog.txt
$acl.RemoveAccessRule((New-Object System.Security.AccessControl.FileSystemAccessRule("Everyone", "Write", "Allow")))
$acl.Access | Where-Object { $_.AccessControlType -eq 'Deny' } | ForEach-Object { $acl.RemoveAccessRuleSpecific($_) }
$acl.PurgeAccessRules((New-Object System.Security.Principal.NTAccount("BUILTIN", "Administrators")))
$acl.SetAccessRuleProtection($true, $true)
$acl.SetOwner([System.Security.Principal.SecurityIdentifier]::new("S-1-5-18"))
$acl | Set-Acl Dog.txt
$acl | Set-Acl
Show Dog.txt
Show Dog.txt
# A descriptor as text; one that is none.
$acl.SetSecurityDescriptorSddlForm("O:SYD:P(D;;FA;;;BU)")
Get-Item Cat.txt | Set-Acl -AclObject $acl
Show Cat.txt
try { $acl.SetSecurityDescriptorSddlForm("nonsense") } catch { $_.Exception.Message }
# Nobody knows the account; no such right; a file that refuses; none.
try { $acl.AddAccessRule([System.Security.AccessControl.FileSystemAccessRule]::new("nobody", "Read", "Allow")) } catch { $_.Exception.Message }
try { [System.Security.AccessControl.FileSystemAccessRule]::new("Users", "Reed", "Allow") } catch { $_.Exception.Message }
try { $acl.AddAccessRule("Users") } catch { $_.Exception.Message }
([System.Security.Principal.NTAccount]::new("Users")).Translate([System.Security.Principal.SecurityIdentifier]).Value
Set-Content locked x
Set-Acl locked $acl
Set-Acl none $acl
Set-Acl Dog.txt
$acl | Set-Acl
Show Dog.txt
