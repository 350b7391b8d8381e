[Security.AccessControl.AccessControlType]::Deny -gt 'x'
'it goes on'
