Get-Item no-such -ErrorAction SilentlyContinue; echo on
