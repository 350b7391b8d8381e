$x = @"
$(Optimize-Volume)
"@
