'x' | tee f -Variable v
