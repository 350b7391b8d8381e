package wine

// consoleLibs returns Wine's ELF libraries that a program without windows may load; the rest (X11, sound, cameras,
// printers) is left without what it needs, so it does not load.
func consoleLibs() []string {
	return []string{
		"ntdll.so", "ws2_32.so", "bcrypt.so", "crypt32.so", "secur32.so", "kerberos.so", "msv1_0.so", "nsiproxy.so",
		"dnsapi.so",
		"mountmgr.so", "netapi32.so", "win32u.so",
	}
}

// openedLibs returns the libraries that Wine and glibc open by name at run time. libgcc_s is for pthread_exit. Without
// freetype Wine complains on standard error even with WINEDEBUG=-all. Without fontconfig win32u.so calls a missing
// function, and every program with user32.dll (cmd.exe too) dies. From glibc 2.34 on the nss libraries are part of
// libc, except the compat ones.
func openedLibs() []string {
	return []string{
		"libgcc_s.so.1", "libfreetype.so.6", "libfontconfig.so.1", "libgnutls.so.30", "libgssapi_krb5.so.2",
		"libkrb5.so.3", "libnss_files.so.2", "libnss_dns.so.2",
		"libresolv.so.2",
	}
}
