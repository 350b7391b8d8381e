Set-Content f x; Get-ItemProperty f -Name Length
