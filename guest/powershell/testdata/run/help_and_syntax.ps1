# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/get-help and get-command: what cmdlets take
Get-Command Start-Sleep -Syntax
Get-Command -Verb Stop -Noun S*
(gcm -Noun Alias).Name -join ' '
(gcm -Verb Split, Join).Name -join ' '
Get-Help Start-Sleep -Full
Get-Help Remove-Item -Parameter R*
help Start-Sleep -Examples
Get-Help Start-Sleep -Detailed
Get-Help Start-Sleep -Online
Get-ExecutionPolicy -List
Start-Sleep -?
