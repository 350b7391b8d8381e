[xml]$x = 'y'
