package gotest

import (
	"slices"
	"strings"
)

// environ returns what a program gets of this machine's environment: what `go test` hands on, but for variables by
// which Linux says where its own things are, and for those that Windows has itself. Their names are compared as Windows
// does, in any case.
func environ(all []string) (out []string) {
	for _, line := range all {
		name, _, ok := strings.Cut(line, "=")
		if ok && name != "" && !strings.ContainsRune(line, 0) && !machines(strings.ToUpper(name)) {
			out = append(out, line)
		}
	}
	return out
}

// machines reports whether a variable is one of this machine, or one that Windows has itself.
func machines(name string) bool {
	for _, prefix := range []string{"LC_", "LD_", "XDG_", "SSH_", "SUDO_", "DBUS_", "WINE", "MULLION_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains(strings.Fields(linuxNames+windowsNames+toolNames), name)
}

const (
	linuxNames = "_ PATH HOME PWD OLDPWD SHELL SHLVL USER LOGNAME MAIL HOSTNAME TMPDIR LANG LANGUAGE LS_COLORS TERM " +
		"TERMINFO DISPLAY WAYLAND_DISPLAY MANPATH INFOPATH EDITOR PAGER "
	windowsNames = "ALLUSERSPROFILE APPDATA COMMONPROGRAMFILES COMPUTERNAME COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA " +
		"NUMBER_OF_PROCESSORS OS PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES PUBLIC SYSTEMDRIVE SYSTEMROOT TEMP " +
		"TMP USERDOMAIN USERNAME USERPROFILE WINDIR "
	// Go's and cargo's folders, which are not in the container, and for what go compiles.
	toolNames = "GOROOT GOPATH GOBIN GOCACHE GOMODCACHE GOTMPDIR GOENV GOWORK GOTOOLDIR GOOS GOARCH CGO_ENABLED CC CXX AR " +
		"PKG_CONFIG PKG_CONFIG_PATH CARGO_HOME RUSTUP_HOME RUSTC CARGO GOCOVERDIR"
)
