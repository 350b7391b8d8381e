//go:build !windows

package services

// Local returns a Manager whose methods fail: services are a matter of Windows.
func Local() Manager { return nowhere{} }

type nowhere struct{}

func (nowhere) List(uint32, uint32, *string) ([]Service, error) { return nil, NotSupported }
func (nowhere) Create(string, Change) error                     { return NotSupported }
func (nowhere) Open(string, uint32) (Handle, error)             { return nil, NotSupported }
func (nowhere) DisplayName(string) (string, error)              { return "", NotSupported }
func (nowhere) KeyName(string) (string, error)                  { return "", NotSupported }

// SetOutput fails.
func SetOutput(string, string) error { return NotSupported }

// SetEnvironment fails.
func SetEnvironment(string, []string) error { return NotSupported }
