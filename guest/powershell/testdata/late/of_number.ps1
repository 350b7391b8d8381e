5x
