[ordered]$x
