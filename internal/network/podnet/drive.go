package podnet

import (
	"os"

	"mullion.dev/mullion/internal/base/beneath"
)

// The host's programs may put anything in the place of a file or folder of its drive. So files are opened beneath the
// drive, out of which links do not lead.

// maxFile is the size of the largest file of the drive that is read, in bytes.
const maxFile = 1 << 20

// writeOf writes a file of a drive, whose path on this machine is given.
func writeOf(drive, name string, data []byte) error {
	return beneath.Within(drive, func(root *os.Root) error { return beneath.Write(root, name, data, 0o644) })
}
