package etw

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/Microsoft/go-winio/pkg/guid"
	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/windows/wire/winerr"
)

const (
	nameChars     = 256
	realTime      = 0x100      // EVENT_TRACE_REAL_TIME_MODE, PROCESS_TRACE_MODE_REAL_TIME
	eventRecords  = 0x10000000 // PROCESS_TRACE_MODE_EVENT_RECORD
	tracedGUID    = 0x20000    // WNODE_FLAG_TRACED_GUID
	enable        = 1          // EVENT_CONTROL_CODE_ENABLE_PROVIDER
	stop          = 1          // EVENT_TRACE_CONTROL_STOP
	stringOnly    = 0x4        // EVENT_HEADER_FLAG_STRING_ONLY
	schemaItem    = 11         // EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL
	traitsItem    = 12         // EVENT_HEADER_EXT_TYPE_PROV_TRAITS
	invalidHandle = ^uint64(0) // INVALID_PROCESSTRACE_HANDLE
	mostWaiting   = 256        // records that nobody has read yet; from then on the session drops them
	enableTime    = 1000       // ms until all programs know
)

// properties is EVENT_TRACE_PROPERTIES, with room for the two names.
type properties struct {
	bufferBytes, providerID        uint32
	context, timeStamp             uint64
	id                             windows.GUID
	clock, flags                   uint32
	bufferSize, minimum, maximum   uint32
	fileSize, mode, flush, enabled uint32
	age                            int32
	buffers, free, lost, written   uint32
	logLost, realTimeLost          uint32
	thread                         uintptr
	fileOffset, nameOffset         uint32
	name, file                     [nameChars]uint16
}

func newProperties() *properties {
	p := &properties{
		clock: 1,
		flags: tracedGUID,
		mode:  realTime,
		flush: 1,
	}
	p.bufferBytes = uint32(unsafe.Sizeof(*p))
	p.nameOffset = uint32(unsafe.Offsetof(p.name))
	p.fileOffset = uint32(unsafe.Offsetof(p.file))
	return p
}

// logfile is EVENT_TRACE_LOGFILEW.
type logfile struct {
	file, name       *uint16
	time             int64
	read, mode       uint32
	event            [88]byte  // EVENT_TRACE
	head             [280]byte // TRACE_LOGFILE_HEADER
	buffer           uintptr
	size, full, lost uint32
	record           uintptr
	kernel           uint32
	context          uintptr
}

// extended is EVENT_HEADER_EXTENDED_DATA_ITEM.
type extended struct {
	_, kind uint16
	_, size uint16
	data    *byte
}

// eventRecord is EVENT_RECORD.
type eventRecord struct {
	size, kind, flags, property uint16
	thread, process             uint32
	time                        windows.Filetime
	provider                    windows.GUID
	id                          uint16
	version, channel            byte
	level, opcode               byte
	task                        uint16
	keyword                     uint64
	cpu                         uint64
	activity                    windows.GUID
	buffer                      uint32
	items, dataSize             uint16
	item                        *extended
	data                        *byte
	context                     uintptr
}

// Session is a session in real time, whose events this process reads.
type Session struct {
	name    string
	handle  uint64
	trace   uint64
	records chan Record
	ended   chan error
}

// sessions finds a session by the number that callbacks have as their context: Go's pointers are not for Windows.
var sessions struct {
	sync.Mutex
	callback uintptr
	all      map[uintptr]*Session
	last     uintptr
}

func call(name string, args ...uintptr) error {
	r, _, _ := windows.NewLazySystemDLL("advapi32.dll").NewProc(name).Call(args...)
	if r != 0 {
		return winerr.Code(r)
	}
	return nil
}

// Start starts a session, in the place of one of this name, and enables providers for it.
func Start(name string, providers []Provider) (*Session, error) {
	s := &Session{
		name:    name,
		records: make(chan Record, mostWaiting),
		ended:   make(chan error, 1),
	}

	wide, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}

	start := func() error {
		return call("StartTraceW", uintptr(unsafe.Pointer(&s.handle)), uintptr(unsafe.Pointer(wide)),
			uintptr(unsafe.Pointer(newProperties())))
	}
	if err = start(); errors.Is(err, AlreadyExists) {
		if err = Stop(name); err == nil || errors.Is(err, NoSuchSession) {
			err = start()
		}
	}

	if err != nil {
		return nil, fmt.Errorf("start the trace session %q: %w", name, err)
	}

	for _, p := range providers {
		id := windows.GUID(p.ID)
		err := call("EnableTraceEx2", uintptr(s.handle), uintptr(unsafe.Pointer(&id)), enable, uintptr(p.Level),
			uintptr(p.Any), 0, enableTime, 0)
		if err != nil && !errors.Is(err, winerr.Code(windows.ERROR_TIMEOUT)) { // some program does not answer
			return nil, errors.Join(fmt.Errorf("enable the provider %s: %w", p.ID, err), Stop(name))
		}
	}

	if err := s.read(wide); err != nil {
		return nil, errors.Join(fmt.Errorf("open the trace session %q: %w", name, err), Stop(name))
	}

	return s, nil
}

// Stop stops the session of a name.
func Stop(name string) error {
	wide, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	return call("ControlTraceW", 0, uintptr(unsafe.Pointer(wide)), uintptr(unsafe.Pointer(newProperties())), stop)
}

// read begins to read the session's events.
func (s *Session) read(name *uint16) error {
	sessions.Lock()
	if sessions.callback == 0 {
		sessions.callback = windows.NewCallback(arrived)
		sessions.all = map[uintptr]*Session{}
	}

	sessions.last++
	number := sessions.last
	sessions.all[number] = s
	sessions.Unlock()
	file := &logfile{
		name:    name,
		mode:    realTime | eventRecords,
		record:  sessions.callback,
		context: number,
	}

	r, _, err := windows.NewLazySystemDLL("advapi32.dll").NewProc("OpenTraceW").Call(uintptr(unsafe.Pointer(file)))
	if s.trace = uint64(r); s.trace == invalidHandle {
		forget(number)
		return err
	}

	go func() {
		handle := s.trace
		err := call("ProcessTrace", uintptr(unsafe.Pointer(&handle)), 1, 0, 0)
		forget(number)
		s.ended <- err
		close(s.records)
	}()

	return nil
}

func forget(number uintptr) {
	sessions.Lock()
	defer sessions.Unlock()
	delete(sessions.all, number)
}

// arrived is called with each event, on the thread of ProcessTrace. It waits if nobody reads; the session drops what it
// then has no room for, and counts it.
func arrived(e *eventRecord) uintptr {
	sessions.Lock()
	s := sessions.all[e.context]
	sessions.Unlock()
	if s == nil {
		return 0
	}

	r := Record{
		Provider: guid.GUID(e.provider), ID: e.id, Version: e.version, Channel: e.channel, Level: e.level,
		Opcode: e.opcode, Task: e.task, Keyword: e.keyword, Activity: guid.GUID(e.activity), Process: e.process,
		Thread: e.thread, Time: time.Unix(0, e.time.Nanoseconds()), StringOnly: e.flags&stringOnly != 0,
		Data: copied(e.data, e.dataSize),
	}

	if e.items > 0 {
		for _, item := range unsafe.Slice(e.item, e.items) {
			switch item.kind {
			case schemaItem:
				r.Schema = copied(item.data, item.size)
			case traitsItem:
				r.Traits = copied(item.data, item.size)
			}
		}
	}

	s.records <- r
	return 0
}

func copied(data *byte, size uint16) []byte {
	if size == 0 {
		return nil
	}
	return append([]byte(nil), unsafe.Slice(data, size)...)
}

// Records returns the events as they come, in a channel that is closed when the session has ended.
func (s *Session) Records() <-chan Record { return s.records }

// Close stops the session. What it still has comes by Records, which somebody has to read; lost says how many events it
// had no room for.
func (s *Session) Close() (lost uint32, err error) {
	p := newProperties()
	err = call("ControlTraceW", uintptr(s.handle), 0, uintptr(unsafe.Pointer(p)), stop)
	return p.lost, err
}
