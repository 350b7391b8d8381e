if 1 { }
