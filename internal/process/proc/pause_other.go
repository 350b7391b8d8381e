//go:build !unix

package proc

import (
	"errors"
	"os"
)

func signalPause(*os.Process) error  { return errors.ErrUnsupported }
func signalResume(*os.Process) error { return errors.ErrUnsupported }
