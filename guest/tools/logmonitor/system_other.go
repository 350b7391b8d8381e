//go:build !windows

package logmonitor

import (
	"errors"
	"os"

	"mullion.dev/mullion/guest/etw"
	"mullion.dev/mullion/guest/eventlog"
)

// ThisSystem returns a System whose methods fail: LogMonitor is a Windows program.
func ThisSystem() System { return nowhere{} }

type nowhere struct{}

func (nowhere) Subscribe(eventlog.Query, bool) (Log, error) { return nil, errors.ErrUnsupported }

func (nowhere) Trace(string, []etw.Provider, func(etw.Record)) (func() (uint32, error), error) {
	return nil, errors.ErrUnsupported
}

func (nowhere) Start(string, *os.File) (func() (int, error), error) {
	return nil, errors.ErrUnsupported
}
