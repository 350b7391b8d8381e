//go:build !windows

package netstat

import "errors"

// Images returns an error: only Windows is asked.
func (local) Images() (map[uint32]string, error) { return nil, errors.ErrUnsupported }
