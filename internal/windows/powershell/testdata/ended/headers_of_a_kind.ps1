Get-Process | ft -HideTableHeaders
