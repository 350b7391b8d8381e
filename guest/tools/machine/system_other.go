//go:build !windows

package machine

import (
	"errors"
	"time"
)

// ThisSystem returns a System whose methods fail: the programs are Windows programs.
func ThisSystem() System { return nowhere{} }

type nowhere struct{}

func (nowhere) Tasks() ([]Task, error)                 { return nil, errors.ErrUnsupported }
func (nowhere) Services() (map[uint32][]string, error) { return nil, errors.ErrUnsupported }
func (nowhere) Describe() (Machine, error)             { return Machine{}, errors.ErrUnsupported }
func (nowhere) SetVariable(bool, string, string) error { return errors.ErrUnsupported }
func (nowhere) Value(string, string) (string, error)   { return "", errors.ErrUnsupported }
func (nowhere) Zone(string) (Zone, error)              { return Zone{}, errors.ErrUnsupported }
func (nowhere) SetZone(string, bool) error             { return errors.ErrUnsupported }
func (nowhere) Zones() ([]Zone, error)                 { return nil, errors.ErrUnsupported }
func (nowhere) MayEnd() error                          { return errors.ErrUnsupported }
func (nowhere) End() error                             { return errors.ErrUnsupported }
func (nowhere) EndHost(bool, time.Duration) error      { return errors.ErrUnsupported }
func (nowhere) KeepHost() (bool, error)                { return false, errors.ErrUnsupported }
