// Package winerr owns the system errors of Windows as our own programs tell them: a number, and Windows' words for it.
// Only the errors that those programs meet have words
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes).
package winerr

import "fmt"

// Code is the number of a system error of Windows.
type Code uint32

// Error implements error, in the words of Windows; "Error N." for a code whose words are not known here.
func (c Code) Error() string {
	if text, ok := texts()[c]; ok {
		return text
	}
	return fmt.Sprintf("Error %d.", uint32(c))
}

func texts() map[Code]string {
	return map[Code]string{
		1:    "Incorrect function.",
		2:    "The system cannot find the file specified.",
		3:    "The system cannot find the path specified.",
		5:    "Access is denied.",
		6:    "The handle is invalid.",
		15:   "The system cannot find the drive specified.",
		17:   "The system cannot move the file to a different disk drive.",
		18:   "There are no more files.",
		19:   "The media is write protected.",
		21:   "The device is not ready.",
		32:   "The process cannot access the file because it is being used by another process.",
		33:   "The process cannot access the file because another process has locked a portion of the file.",
		50:   "The request is not supported.",
		53:   "The network path was not found.",
		65:   "Network access is denied.",
		66:   "The network resource type is not correct.",
		67:   "The network name cannot be found.",
		87:   "The parameter is incorrect.",
		80:   "The file exists.",
		109:  "The pipe has been ended.",
		111:  "The file name is too long.",
		112:  "There is not enough space on the disk.",
		120:  "This function is not supported on this system.",
		123:  "The filename, directory name, or volume label syntax is incorrect.",
		124:  "The system call level is not correct.",
		145:  "The directory is not empty.",
		183:  "Cannot create a file when that file already exists.",
		193:  "%1 is not a valid Win32 application.",
		206:  "The filename or extension is too long.",
		230:  "The pipe state is invalid.",
		231:  "All pipe instances are busy.",
		232:  "The pipe is being closed.",
		233:  "No process is on the other end of the pipe.",
		267:  "The directory name is invalid.",
		740:  "The requested operation requires elevation.",
		1314: "A required privilege is not held by the client.",
		1051: "A stop control has been sent to a service that other running services are dependent on.",
		1052: "The requested control is not valid for this service.",
		1053: "The service did not respond to the start or control request in a timely fashion.",
		1054: "A thread could not be created for the service.",
		1055: "The service database is locked.",
		1056: "An instance of the service is already running.",
		1057: "The account name is invalid or does not exist, or the password is invalid for the account name specified.",
		1058: "The service cannot be started, either because it is disabled or because it has no enabled devices " +
			"associated with it.",
		1059:  "Circular service dependency was specified.",
		1060:  "The specified service does not exist as an installed service.",
		1061:  "The service cannot accept control messages at this time.",
		1062:  "The service has not been started.",
		1063:  "The service process could not connect to the service controller.",
		1064:  "An exception occurred in the service when handling the control request.",
		1066:  "The service has returned a service-specific error code.",
		1067:  "The process terminated unexpectedly.",
		1068:  "The dependency service or group failed to start.",
		1069:  "The service did not start due to a logon failure.",
		1070:  "After starting, the service hung in a start-pending state.",
		1072:  "The specified service has been marked for deletion.",
		1073:  "The specified service already exists.",
		1075:  "The dependency service does not exist or has been marked for deletion.",
		1077:  "No attempts to start the service have been made since the last boot.",
		1078:  "The name is already in use as either a service name or a service display name.",
		1639:  "Invalid command line argument. Consult the Windows Installer SDK for detailed command line help.",
		1722:  "The RPC server is unavailable.",
		1450:  "Insufficient system resources exist to complete the requested service.",
		1734:  "The array bounds are invalid.",
		4201:  "The instance name passed was not recognized as valid by a WMI data provider.",
		15001: "The specified query is invalid.",
		15007: "The specified channel could not be found.",
		15026: "The query is too complex.",
	}
}
