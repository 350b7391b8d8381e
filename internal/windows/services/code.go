package services

import (
	"strconv"
	"strings"
)

// Code is the number of a system error of Windows.
type Code uint32

// Errors of the service control manager
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes--1000-1299-).
const (
	AccessDenied      = Code(5)
	NotSupported      = Code(50)
	InvalidParameter  = Code(87)
	InvalidName       = Code(123)
	AlreadyRunning    = Code(1056)
	InvalidAccount    = Code(1057)
	Disabled          = Code(1058)
	DoesNotExist      = Code(1060)
	NotActive         = Code(1062)
	SpecificError     = Code(1066)
	ProcessAborted    = Code(1067)
	MarkedForDelete   = Code(1072)
	Exists            = Code(1073)
	NeverStarted      = Code(1077)
	InvalidCommand    = Code(1639)
	ServerUnavailable = Code(1722)
)

// Error implements error, in the words of Windows.
func (c Code) Error() string {
	if text, ok := texts()[c]; ok {
		return text
	}
	return "error " + strconv.FormatUint(uint64(c), 10)
}

func texts() map[Code]string {
	return map[Code]string{
		1:    "Incorrect function.",
		2:    "The system cannot find the file specified.",
		3:    "The system cannot find the path specified.",
		5:    "Access is denied.",
		6:    "The handle is invalid.",
		50:   "The request is not supported.",
		87:   "The parameter is incorrect.",
		120:  "This function is not supported on this system.",
		123:  "The filename, directory name, or volume label syntax is incorrect.",
		124:  "The system call level is not correct.",
		193:  "%1 is not a valid Win32 application.",
		1051: "A stop control has been sent to a service that other running services are dependent on.",
		1052: "The requested control is not valid for this service.",
		1053: "The service did not respond to the start or control request in a timely fashion.",
		1054: "A thread could not be created for the service.",
		1055: "The service database is locked.",
		1056: "An instance of the service is already running.",
		1057: "The account name is invalid or does not exist, or the password is invalid for the account name specified.",
		1058: "The service cannot be started, either because it is disabled or because it has no enabled devices " +
			"associated with it.",
		1059: "Circular service dependency was specified.",
		1060: "The specified service does not exist as an installed service.",
		1061: "The service cannot accept control messages at this time.",
		1062: "The service has not been started.",
		1063: "The service process could not connect to the service controller.",
		1064: "An exception occurred in the service when handling the control request.",
		1066: "The service has returned a service-specific error code.",
		1067: "The process terminated unexpectedly.",
		1068: "The dependency service or group failed to start.",
		1069: "The service did not start due to a logon failure.",
		1070: "After starting, the service hung in a start-pending state.",
		1072: "The specified service has been marked for deletion.",
		1073: "The specified service already exists.",
		1075: "The dependency service does not exist or has been marked for deletion.",
		1077: "No attempts to start the service have been made since the last boot.",
		1078: "The name is already in use as either a service name or a service display name.",
		1639: "Invalid command line argument. Consult the Windows Installer SDK for detailed command line help.",
		1722: "The RPC server is unavailable.",
	}
}

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
