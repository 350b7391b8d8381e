$x = @"
$(Clear-Disk)
"@
