Get-Item no-such; echo on
