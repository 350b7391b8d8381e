[Security.AccessControl.AccessControlType]::Maybe
