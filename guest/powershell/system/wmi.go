package system

import (
	"strconv"
	"time"

	"mullion.dev/mullion/guest/powershell/words"
)

// WMIObject is an instance of a class of Windows Management Instrumentation: its properties, in order. A value is nil,
// bool, int64, float64, string, time.Time or a list of those.
type WMIObject struct {
	Class string
	Names []string
	Props []any
}

// Errors of WMI, in its words (https://learn.microsoft.com/en-us/windows/win32/wmisdk/wmi-error-constants).
var (
	ErrWMIClass     = words.Errorf("Invalid class")
	ErrWMINamespace = words.Errorf("Invalid namespace")
	ErrWMIQuery     = words.Errorf("Invalid query")
)

// ParseCIMTime reads a time in WMI's form. ok is false for what is none, such as a time with wild cards.
func ParseCIMTime(s string) (t time.Time, ok bool) {
	const sign = len("yyyymmddHHMMSS.mmmmmm")
	if len(s) < sign+2 || s[sign] != '+' && s[sign] != '-' {
		return time.Time{}, false
	}
	minutes, err := strconv.Atoi(s[sign:])
	if err != nil {
		return time.Time{}, false
	}
	zone := time.FixedZone("", minutes*60)
	t, err = time.ParseInLocation("20060102150405.000000", s[:sign], zone)
	return t.Local(), err == nil
}
