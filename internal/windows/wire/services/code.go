package services

import (
	"strings"

	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// Errors of the service control manager
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes--1000-1299-).
const (
	AccessDenied      = winerr.Code(5)
	NotSupported      = winerr.Code(50)
	InvalidParameter  = winerr.Code(87)
	InvalidName       = winerr.Code(123)
	RequestTimeout    = winerr.Code(1053)
	AlreadyRunning    = winerr.Code(1056)
	InvalidAccount    = winerr.Code(1057)
	Disabled          = winerr.Code(1058)
	DoesNotExist      = winerr.Code(1060)
	NotActive         = winerr.Code(1062)
	SpecificError     = winerr.Code(1066)
	ProcessAborted    = winerr.Code(1067)
	MarkedForDelete   = winerr.Code(1072)
	Exists            = winerr.Code(1073)
	NeverStarted      = winerr.Code(1077)
	InvalidCommand    = winerr.Code(1639)
	ServerUnavailable = winerr.Code(1722)
)

// KnownAccount reports whether a service can run under an account. Only the accounts of Windows itself are there; all
// of them are the same user here.
func KnownAccount(name string) bool {
	name = strings.ToLower(strings.TrimPrefix(name, `.\`))
	switch name {
	case "localsystem", `nt authority\system`, `nt authority\localservice`, `nt authority\local service`,
		`nt authority\networkservice`, `nt authority\network service`:
		return true
	}
	account, ok := strings.CutPrefix(name, `nt service\`)
	return ok && account != ""
}
