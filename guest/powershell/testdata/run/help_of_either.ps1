# https://learn.microsoft.com/powershell/module/microsoft.powershell.localaccounts/new-localuser: either is required
Get-Help New-LocalUser -Parameter *password
