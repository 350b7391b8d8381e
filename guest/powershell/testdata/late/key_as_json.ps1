Get-ItemProperty HKLM:\SOFTWARE\Mullion | ConvertTo-Json
