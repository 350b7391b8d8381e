package testrun

import (
	"testing"

	"golang.org/x/sys/unix"
)

// perMessage is how many descriptors one message of a Unix socket takes (SCM_MAX_FD of Linux).
const perMessage = 253

// MessagesUnderWay returns how many messages full of descriptors a user may have sent that nobody has taken: Linux lets
// it have as many descriptors under way as a process may have open, and looks before it takes a message.
func MessagesUnderWay(t *testing.T) int {
	t.Helper()
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	return int(min(files.Max, 1<<30))/perMessage + 1
}
