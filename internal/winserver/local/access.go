package local

import "mullion.dev/mullion/internal/winserver"

// list returns the owner and the list of access, without what the folder above hands down
// (https://learn.microsoft.com/windows/win32/secauthz/security-descriptor-string-format): full access for the system
// and administrators; of users (BU) reading and executing; or, in a folder of volumes, what C:\ itself hands down:
// reading, making folders and files, and everything with what is their own (CO).
func list(access winserver.Access) string {
	const all = "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
	switch access {
	case winserver.Readable:
		return all + "(A;OICI;0x1200a9;;;BU)"
	case winserver.Volumes:
		return all + "(A;OICIIO;0x1200a9;;;BU)(A;CIIO;LC;;;BU)(A;CIIO;DC;;;BU)(A;OICIIO;GA;;;CO)"
	case winserver.Private:
	}
	return all
}
