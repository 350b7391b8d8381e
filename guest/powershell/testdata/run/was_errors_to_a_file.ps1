sh x 2> f
