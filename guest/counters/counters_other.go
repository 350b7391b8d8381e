//go:build !windows

package counters

import "errors"

// Expand fails: only Windows has counters of Windows.
func (System) Expand(string) ([]string, error) { return nil, errors.ErrUnsupported }

// Open fails, as Expand.
func (System) Open([]string) (Query, error) { return nil, errors.ErrUnsupported }
