package eventlog

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// System is the event log of this Windows.
type System struct{}

const (
	key           = `SYSTEM\CurrentControlSet\Services\EventLog`
	messages      = `%SystemRoot%\System32\EventCreate.exe`
	batch         = 64
	asXML         = 1 // EvtRenderEventXml
	eventMessage  = 1 // EvtFormatMessageEvent
	byChannel     = 0x1
	backward      = 0x200
	propertyBytes = 4 << 10
)

// evt calls a function of wevtapi.dll.
func evt(name string, args ...uintptr) (uintptr, error) {
	r, _, err := windows.NewLazySystemDLL("wevtapi.dll").NewProc(name).Call(args...)
	if r != 0 {
		return r, nil
	}
	return 0, coded(err)
}

// coded gives an error of Windows that the event log has of its own its words.
func coded(err error) error {
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return winerr.Code(n)
	}
	return err
}

// wide returns a text for Windows; the caller keeps it until the call ends.
func wide(text string) (*uint16, error) {
	p, err := windows.UTF16PtrFromString(text)
	if err != nil {
		return nil, fmt.Errorf("the text %q: %w", text, err)
	}
	return p, nil
}

func at[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func closeHandle(handle uintptr) { _, _ = evt("EvtClose", handle) }

// Logs returns the names of all logs.
func (System) Logs() ([]string, error) { return names("EvtOpenChannelEnum", "EvtNextChannelPath") }

// Providers returns the names of all providers, which are the sources of events.
func (System) Providers() ([]string, error) {
	return names("EvtOpenPublisherEnum", "EvtNextPublisherId")
}

// names returns what two functions list: one that opens the list, and one that tells the next of it.
func names(open, next string) ([]string, error) {
	list, err := evt(open, 0, 0)
	if err != nil {
		return nil, err
	}
	defer closeHandle(list)

	var all []string
	for {
		var used uint32
		buffer := make([]uint16, 512)
		_, err := evt(next, list, uintptr(len(buffer)), at(&buffer[0]), at(&used))
		if errors.Is(err, winerr.Code(windows.ERROR_NO_MORE_ITEMS)) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}

		all = append(all, windows.UTF16ToString(buffer))
	}
}

// Events calls f with events until there are no more or it returns false.
func (System) Events(q Query, f func(Event) bool) error {
	log, err := wide(q.Log)
	if err != nil {
		return err
	}
	query, err := wide(q.XPath)
	if err != nil {
		return err
	}

	flags := uintptr(byChannel)
	if q.Newest {
		flags |= backward
	}
	set, err := evt("EvtQuery", 0, at(log), at(query), flags)
	if err != nil {
		return err
	}
	defer closeHandle(set)

	for {
		var handles [batch]uintptr
		var returned uint32
		_, err := evt("EvtNext", set, batch, at(&handles[0]), 0, 0, at(&returned))
		if errors.Is(err, winerr.Code(windows.ERROR_NO_MORE_ITEMS)) {
			return nil
		}
		if err != nil {
			return err
		}

		more, err := each(handles[:returned], f)
		if err != nil || !more {
			return err
		}
	}
}

// each calls f with events and closes their handles.
func each(handles []uintptr, f func(Event) bool) (more bool, err error) {
	more = true
	for _, handle := range handles {
		if more && err == nil {
			var e Event
			if e, err = read(handle); err == nil {
				more = f(e)
			}
		}
		closeHandle(handle)
	}
	return more, err
}

func read(handle uintptr) (Event, error) {
	var used, properties uint32
	_, err := evt("EvtRender", 0, handle, asXML, 0, 0, at(&used), at(&properties))
	if !errors.Is(err, winerr.Code(windows.ERROR_INSUFFICIENT_BUFFER)) {
		return Event{}, err
	}
	buffer := make([]uint16, used/2+1)
	if _, err := evt("EvtRender", 0, handle, asXML, uintptr(used), at(&buffer[0]), at(&used), at(&properties)); err != nil {
		return Event{}, err
	}

	e, err := Parse(windows.UTF16ToString(buffer))
	if err != nil {
		return Event{}, err
	}
	e.Message = message(e.Provider, handle)
	return e, nil
}

// message returns the text that the source has for an event, or empty.
func message(provider string, handle uintptr) string {
	name, err := wide(provider)
	if err != nil {
		return ""
	}
	publisher, err := evt("EvtOpenPublisherMetadata", 0, at(name), 0, 0, 0)
	if err != nil {
		return ""
	}
	defer closeHandle(publisher)

	var used uint32
	_, err = evt("EvtFormatMessage", publisher, handle, 0, 0, 0, eventMessage, 0, 0, at(&used))
	if !errors.Is(err, winerr.Code(windows.ERROR_INSUFFICIENT_BUFFER)) {
		return ""
	}

	buffer := make([]uint16, used+1)
	const unresolved = winerr.Code(15029) // the text is there, with a place for a string that is not
	_, err = evt("EvtFormatMessage", publisher, handle, 0, 0, 0, eventMessage, uintptr(used), at(&buffer[0]), at(&used))
	if err != nil && !errors.Is(err, unresolved) {
		return ""
	}

	return windows.UTF16ToString(buffer)
}

// Clear removes all events of a log.
func (System) Clear(log string) error {
	name, err := wide(log)
	if err != nil {
		return err
	}
	_, err = evt("EvtClearLog", 0, at(name), 0, 0)
	return err
}

// variant is an EVT_VARIANT.
type variant struct {
	value       uint64
	count, kind uint32
}

// Info returns what is known of a log.
func (System) Info(log string) (Info, error) {
	name, err := wide(log)
	if err != nil {
		return Info{}, err
	}
	config, err := evt("EvtOpenChannelConfig", 0, at(name), 0)
	if err != nil {
		return Info{}, err
	}
	defer closeHandle(config)

	open, err := evt("EvtOpenLog", 0, at(name), 1)
	if err != nil {
		return Info{}, err
	}
	defer closeHandle(open)

	var used uint32
	buffer := make([]variant, propertyBytes/16)
	setting := func(property uintptr) uint64 {
		_, failed := evt("EvtGetChannelConfigProperty", config, property, 0, propertyBytes, at(&buffer[0]), at(&used))
		err = errors.Join(err, failed)
		return buffer[0].value
	}

	is := func(property uintptr) uint64 {
		_, failed := evt("EvtGetLogInfo", open, property, propertyBytes, at(&buffer[0]), at(&used))
		err = errors.Join(err, failed)
		return buffer[0].value
	}

	info := Info{
		MaxBytes: setting(8),
		Bytes:    is(3),
		Records:  is(5),
		Oldest:   is(6),
	} // EVT_LOG_PROPERTY_ID
	if setting(9); err == nil {
		info.Path = windows.UTF16PtrToString(*(**uint16)(unsafe.Pointer(&buffer[0].value)))
	}

	return info, err
}

// Write writes an event.
func (s System) Write(e Entry) error {
	if log, known := s.LogOf(e.Source); e.Log != "" && known && !strings.EqualFold(log, e.Log) {
		return fmt.Errorf("the source %q is of the log %s", e.Source, log)
	} else if e.Log != "" && !known {
		if err := s.Register(e.Log, e.Source); err != nil {
			return err
		}
	}

	name, err := wide(e.Source)
	if err != nil {
		return err
	}
	text, err := wide(e.Text)
	if err != nil {
		return err
	}

	handle, err := windows.RegisterEventSource(nil, name)
	if err != nil {
		return coded(err)
	}
	var data *byte
	if len(e.Data) > 0 {
		data = &e.Data[0]
	}

	// Bounded by ReportEvent.
	err = windows.ReportEvent(handle, e.Type, e.Category, e.ID, 0, 1, uint32(len(e.Data)), &text, data)
	_ = windows.DeregisterEventSource(handle)
	return coded(err)
}

// Register makes a source in a log, and the log if there is none of its name.
func (System) Register(log, source string) error {
	k, _, err := registry.CreateKey(registry.LOCAL_MACHINE, key+`\`+log+`\`+source, registry.SET_VALUE)
	if err != nil {
		return coded(err)
	}
	defer k.Close()
	return errors.Join(k.SetDWordValue("CustomSource", 1), k.SetExpandStringValue("EventMessageFile", messages),
		k.SetDWordValue("TypesSupported", 7))
}

// LogOf returns the log of a source; false if it is not registered.
func (s System) LogOf(source string) (string, bool) {
	logs, err := s.Logs()
	if err != nil || strings.Contains(source, `\`) {
		return "", false
	}

	for _, log := range logs {
		if strings.EqualFold(log, source) {
			return log, true
		}
		k, err := registry.OpenKey(registry.LOCAL_MACHINE, key+`\`+log+`\`+source, registry.QUERY_VALUE)
		if err == nil {
			k.Close()
			return log, true
		}
	}

	return "", false
}
