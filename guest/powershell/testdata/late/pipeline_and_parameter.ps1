'x' | Set-Content f y
