package cli

import "strconv"

// aSwitch is a flag that turns something on (--x) or off (--x=false); without the flag it stays. It is a pflag.Value.
type aSwitch struct{ to *bool }

// String implements pflag.Value.
func (s *aSwitch) String() string {
	if s.to == nil {
		return ""
	}
	return strconv.FormatBool(*s.to)
}

// Set implements pflag.Value.
func (s *aSwitch) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err == nil {
		s.to = &on
	}
	return err
}

// Type implements pflag.Value.
func (s *aSwitch) Type() string { return "bool" }

// IsBoolFlag lets the flag stand without a value.
func (s *aSwitch) IsBoolFlag() bool { return true }
