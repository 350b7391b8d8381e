# https://learn.microsoft.com/powershell/module/microsoft.powershell.localaccounts/get-localuser: what holds for passwords
$null = New-LocalUser ann -NoPassword
$null = New-LocalUser bob -Password (ConvertTo-SecureString 'P@ss' -AsPlainText -Force)
Rename-LocalUser Administrator root
Get-LocalUser | ForEach-Object { "$($_.Name) $($_.PasswordRequired) $($_.UserMayChangePassword)" }
Remove-LocalUser root
