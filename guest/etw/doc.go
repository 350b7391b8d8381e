// Package etw owns Event Tracing for Windows as Mullion's own programs use it: sessions in real time, by the functions
// of advapi32.dll, and what the events of TraceLogging say, which describe themselves. How events get from one process
// to another is the business of the library (guest/c/tdh); this package does not know it.
package etw

import (
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"

	"mullion.dev/mullion/internal/windows/wire/winerr"
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
	AccessDenied  = winerr.Code(5)
	NotSupported  = winerr.Code(50)
	InvalidHandle = winerr.Code(6)
	AlreadyExists = winerr.Code(183)
	NoSuchSession = winerr.Code(4201)
)
