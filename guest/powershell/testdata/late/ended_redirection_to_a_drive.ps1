$p = 'HKLM:/x'; echo x > $p
