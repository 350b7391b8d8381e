echo x > HKLM:/x
