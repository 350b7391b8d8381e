// Package etw owns Event Tracing for Windows as Mullion's own programs use it: sessions in real time, by the functions
// of advapi32.dll, and what the events of TraceLogging say, which describe themselves. How events get from one process
// to another is the business of the library (shim/tdh); this package does not know it.
package etw

import (
	"fmt"
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// Provider is what a session asks of a provider.
type Provider struct {
	ID    guid.GUID
	Level byte   // events up to this level; 0: all
	Any   uint64 // events with one of these keywords, and those without keywords; 0: all
}

// Record is an event as a session delivers it.
type Record struct {
	Provider   guid.GUID
	ID         uint16
	Version    byte
	Channel    byte
	Level      byte
	Opcode     byte
	Task       uint16
	Keyword    uint64
	Activity   guid.GUID
	Process    uint32
	Thread     uint32
	Time       time.Time
	StringOnly bool   // Data is one text
	Schema     []byte // the name and fields of an event of TraceLogging; nil: the event does not describe itself
	Traits     []byte // those of the provider
	Data       []byte
}

// Errors of Windows (winerror.h) that sessions end with.
const (
	AccessDenied  = Code(5)
	NotSupported  = Code(50)
	InvalidHandle = Code(6)
	AlreadyExists = Code(183)
	NoSuchSession = Code(4201)
)

// Code is the number of an error of Windows.
type Code uint32

// Error returns the words of Windows, for the codes that sessions have.
func (c Code) Error() string {
	words := map[Code]string{
		AccessDenied:  "Access is denied.",
		NotSupported:  "The request is not supported.",
		AlreadyExists: "Cannot create a file when that file already exists.",
		NoSuchSession: "The instance name passed was not recognized as valid by a WMI data provider.",
		1450:          "Insufficient system resources exist to complete the requested service.",
	}[c]
	if words == "" {
		return fmt.Sprintf("Error %d.", uint32(c))
	}
	return words
}
