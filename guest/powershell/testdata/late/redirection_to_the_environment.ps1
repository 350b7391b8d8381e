echo x > env:X
