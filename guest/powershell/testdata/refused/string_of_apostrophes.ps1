'x
