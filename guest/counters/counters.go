// Package counters reads the performance counters of the Windows on which the program runs, as pdh.dll tells them
// (https://learn.microsoft.com/windows/win32/perfctrs/using-the-pdh-functions-to-consume-counter-data).
package counters

import (
	"fmt"
	"time"
)

// Sample is a counter at a moment.
type Sample struct {
	Path   string // \object(instance)\counter, as it was asked for
	Cooked float64
	Status Status // 0: Cooked is valid

	// Raw are the counter's own numbers, Type says what they mean (winperf.h).
	Raw, Second int64
	Count, Type uint32
	At          time.Time
}

// Status is PDH_STATUS, an error if it is not 0.
type Status uint32

// The numbers of an object, an instance and a counter that are not there, and of a path that is none
// (https://learn.microsoft.com/windows/win32/perfctrs/pdh-error-codes).
const (
	NoInstance Status = 0x800007D1
	NoData     Status = 0x800007D5
	NoObject   Status = 0xC0000BB8
	NoCounter  Status = 0xC0000BB9
	BadName    Status = 0xC0000BC0
	BadPath    Status = 0xC0000BC4
)

// Error returns Windows' words for a status.
func (s Status) Error() string {
	text, known := map[Status]string{
		NoInstance: "The specified instance is not present.",
		NoData:     "No data to return.",
		NoObject:   "The specified object was not found on the computer.",
		NoCounter:  "The specified counter could not be found.",
		BadName:    "Unable to parse the counter path. Check the format and syntax of the specified path.",
		BadPath:    "Unable to parse the counter path. Check the format and syntax of the specified path.",
	}[s]
	if !known {
		return fmt.Sprintf("Internal performance counter API call failed. Error: %x.", uint32(s))
	}
	return text
}

// Query reads several counters at once. Rates need two Collects, some time apart.
type Query interface {
	Collect() ([]Sample, error)
	Close() error
}

// System are the counters of Windows.
type System struct{}
