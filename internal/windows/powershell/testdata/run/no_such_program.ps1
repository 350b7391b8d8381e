no-such.exe x
