[Security.AccessControl.AccessControlType]::Deny | ConvertTo-Json
