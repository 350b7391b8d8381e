//go:build !windows

package certutil

import "errors"

// ThisSystem returns a System whose methods fail: certutil is a Windows program.
func ThisSystem() System { return nowhere{} }

type nowhere struct{}

func (nowhere) AddCertificate(string, bool, []byte) (bool, error) {
	return false, errors.ErrUnsupported
}
