package identity

import (
	"os"

	"golang.org/x/sys/windows"
)

// Session implements System.
func (local) Session() uint32 {
	var session uint32
	if err := windows.ProcessIdToSessionId(uint32(os.Getpid()), &session); err != nil {
		return 0
	}
	return session
}
