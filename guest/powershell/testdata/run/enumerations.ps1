$d = [Security.AccessControl.AccessControlType]::Deny
"$d"
$d -ne [System.Security.AccessControl.AccessControlType]::Allow
$d.value__
$d -eq 'deny'
$d -eq 'allow'
