$x = @y
