Write-Output x -OutVariable +WarningPreference
