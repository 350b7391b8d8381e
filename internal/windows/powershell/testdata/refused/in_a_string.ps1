"$(Get-Date)"
