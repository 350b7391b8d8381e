Get-Item no-such
