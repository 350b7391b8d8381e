//go:build !windows

package forfiles

import (
	"errors"
	"time"

	"mullion.dev/mullion/guest/tools/program"
)

// ThisSystem is the system of this process.
func ThisSystem() System { return system{} }

type system struct{}

func (system) Run(program.Env, string, string) error { return errors.ErrUnsupported }

func (system) Now() time.Time { return time.Now() }
