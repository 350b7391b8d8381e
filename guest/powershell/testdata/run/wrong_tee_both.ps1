'x' | tee f -Variable v
'it goes on'
