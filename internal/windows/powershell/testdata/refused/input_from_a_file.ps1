sort.exe < f
