package cmdline

import "strconv"

// Switch is a flag that turns something on (--x) or off (--x=false); without the flag it stays. It is a pflag.Value.
type Switch struct {
	// To is what the flag says, nil without it.
	To *bool
}

// String implements pflag.Value.
func (s *Switch) String() string {
	if s.To == nil {
		return ""
	}
	return strconv.FormatBool(*s.To)
}

// Set implements pflag.Value.
func (s *Switch) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err == nil {
		s.To = &on
	}
	return err
}

// Type implements pflag.Value.
func (s *Switch) Type() string { return "bool" }

// IsBoolFlag lets the flag stand without a value.
func (s *Switch) IsBoolFlag() bool { return true }
