$d = [Security.AccessControl.AccessControlType]::Deny; $d.name
