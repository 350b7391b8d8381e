package disks

import (
	"errors"

	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// refusal is an answer in Windows' words and with its number
// (https://learn.microsoft.com/windows-hardware/drivers/storage/msft-disk and the pages of its methods).
type refusal struct {
	words string
	code  uint32
}

func (r *refusal) Error() string { return r.words }

func refused(code uint32, words string) error { return &refusal{words, code} }

// ErrInUse says that a program or a container has a file or a folder of the volume open.
var ErrInUse = error(&refusal{"The device or resource is in use: a program or a container has its volume.", hostdisk.InUse})

// answerOf is Windows' words and number for an error.
func answerOf(err error) (string, uint32) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.words, r.code
	}
	return "Failed: " + err.Error(), 4
}
