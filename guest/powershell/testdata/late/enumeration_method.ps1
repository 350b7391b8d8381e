[Security.AccessControl.AccessControlType]::Parse('x')
