$x = @"
$(Get-Disk)
"@
