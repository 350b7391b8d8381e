$b = { echo x }; & $b 2>&1
