[Security.AccessControl.AccessControlType]::Deny -gt 'x'
