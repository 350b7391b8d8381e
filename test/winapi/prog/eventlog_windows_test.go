package prog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/eventlog"
)

// Errors of winerror.h that package windows has no names for in every release.
const (
	evtInvalidQuery    = syscall.Errno(15001)
	evtChannelNotFound = syscall.Errno(15007)
	evtMessageNotFound = syscall.Errno(15027)
	evtUnresolved      = syscall.Errno(15029)
	boundInvalid       = syscall.Errno(1734)
)

// procedure calls a function that answers 0 for a failure.
func procedure(dll, name string, args ...uintptr) (uintptr, error) {
	r, _, err := windows.NewLazySystemDLL(dll).NewProc(name).Call(args...)
	if r != 0 {
		return r, nil
	}
	return 0, err
}

func evt(name string, args ...uintptr) (uintptr, error) {
	return procedure("wevtapi.dll", name, args...)
}

func advapi(name string, args ...uintptr) (uintptr, error) {
	return procedure("advapi32.dll", name, args...)
}

// onHeap keeps what address was asked for last.
var onHeap atomic.Pointer[byte]

// address returns where a variable lies, which it moves to the heap: a stack may grow, and then lies elsewhere.
func address[T any](p *T) uintptr {
	onHeap.Store((*byte)(unsafe.Pointer(p)))
	return uintptr(unsafe.Pointer(p))
}

// newLog makes a log that there was not before, with a source of its name and "Src", and returns its name.
func newLog(t *testing.T, values map[string]string) string {
	t.Helper()
	name := fmt.Sprintf("%x-%s", time.Now().UnixNano(), strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	path := `SYSTEM\CurrentControlSet\Services\EventLog\` + name
	for _, below := range []string{"", `\` + name + "Src"} {
		key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, path+below, registry.ALL_ACCESS)
		if err != nil {
			t.Fatal(err)
		}
		for value, data := range values {
			if err := key.SetExpandStringValue(value, data); err != nil {
				t.Fatal(err)
			}
		}

		key.Close()
	}

	t.Cleanup(func() {
		_ = registry.DeleteKey(registry.LOCAL_MACHINE, path+`\`+name+"Src")
		_ = registry.DeleteKey(registry.LOCAL_MACHINE, path)
	})
	return name
}

// source opens the source of a log that newLog made.
func source(t *testing.T, log string) *eventlog.Log {
	t.Helper()
	l, err := eventlog.Open(log + "Src")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// events queries a log and returns its events as XML.
func events(t *testing.T, log, query string, flags uintptr) []string {
	t.Helper()
	set, err := evt("EvtQuery", 0, keptText(log), keptText(query), flags|1)
	if err != nil {
		t.Fatalf("EvtQuery %s %s: %v", log, query, err)
	}
	defer evt("EvtClose", set)
	return drain(t, set)
}

// drain returns all events of a result set as XML.
func drain(t *testing.T, set uintptr) []string {
	t.Helper()
	var all []string
	for {
		var handles [3]uintptr
		var returned uint32
		_, err := evt("EvtNext", set, 3, address(&handles[0]), 1000, 0, address(&returned))
		if errors.Is(err, windows.ERROR_NO_MORE_ITEMS) {
			return all
		}
		if err != nil {
			t.Fatalf("EvtNext: %v", err)
		}

		for _, h := range handles[:returned] {
			all = append(all, render(t, 0, h, 1))
			if _, err := evt("EvtClose", h); err != nil {
				t.Errorf("EvtClose: %v", err)
			}
		}
	}
}

// render returns an event or a bookmark as text.
func render(t *testing.T, context, handle, flags uintptr) string {
	t.Helper()
	var used, properties uint32
	_, err := evt("EvtRender", context, handle, flags, 0, 0, address(&used), address(&properties))
	if !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) {
		t.Fatalf("EvtRender without a buffer: %v", err)
	}
	buffer := make([]uint16, used/2)
	if _, err := evt("EvtRender", context, handle, flags, uintptr(used), address(&buffer[0]), address(&used),
		address(&properties)); err != nil {
		t.Fatalf("EvtRender: %v", err)
	}
	return windows.UTF16ToString(buffer)
}

// piece returns what is between two marks of a text.
func piece(text, from, to string) string {
	_, after, _ := strings.Cut(text, from)
	is, _, _ := strings.Cut(after, to)
	return is
}

func values(all []string, from, to string) string {
	var is []string
	for _, text := range all {
		is = append(is, piece(text, from, to))
	}
	return strings.Join(is, " ")
}

// TestEventLogService writes as services in Go do, and reads the events as XML.
func TestEventLogService(t *testing.T) {
	log := newLog(t, nil)
	l := source(t, log)
	if err := errors.Join(l.Info(1, "begun"), l.Warning(2, "<slow> & \"odd\"\x01"), l.Error(3, "ended")); err != nil {
		t.Fatal(err)
	}
	all := events(t, log, "*", 0)
	if got := values(all, "<Data>", "</Data>"); got != "begun &lt;slow&gt; &amp; &quot;odd&quot;\ufffd ended" {
		t.Errorf("texts: %q", got)
	}

	if got := values(all, "<Level>", "</Level>"); got != "4 3 2" {
		t.Errorf("levels: %q", got)
	}

	first := all[0]
	for _, want := range []string{
		"<Provider Name='" + log + "Src'/>", "<EventID Qualifiers='0'>1</EventID>", "<EventRecordID>1</EventRecordID>",
		"<Keywords>0x80000000000000</Keywords>", "<Channel>" + log + "</Channel>", "<Security/>",
		fmt.Sprintf("<Execution ProcessID='%d'", os.Getpid()),
	} {
		if !strings.Contains(first, want) {
			t.Errorf("%s is not in %s", want, first)
		}
	}

	when, err := time.Parse(time.RFC3339Nano, piece(first, "SystemTime='", "'"))
	if err != nil || time.Since(when).Abs() > time.Minute {
		t.Errorf("time %v, %v", when, err)
	}
	if got := values(events(t, log, "", 0x200), "<EventID Qualifiers='0'>", "<"); got != "3 2 1" {
		t.Errorf("backward: %q", got)
	}
}

// TestEventLogSources holds where events of a source go: a source that is not registered to Application, nobody's to
// Security.
func TestEventLogSources(t *testing.T) {
	const name = "Mullion test without registration"
	l, err := eventlog.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Info(7, "here"); err != nil {
		t.Fatal(err)
	}

	if got := events(t, "Application", "*[System[Provider[@Name='"+name+"']]]", 0); len(got) == 0 {
		t.Error("the event is not in Application")
	}
	if err := eventlog.InstallAsEventCreate(name, eventlog.Info); err != nil {
		t.Errorf("register: %v", err)
	}
	if err := eventlog.Remove(name); err != nil {
		t.Errorf("remove: %v", err)
	}

	if _, err := eventlog.Open("Security"); !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		t.Errorf("open Security: %v", err)
	}
	if _, err := eventlog.OpenRemote("elsewhere", name); !errors.Is(err, windows.RPC_S_SERVER_UNAVAILABLE) {
		t.Errorf("open another computer's: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}

	if err := l.Info(8, "closed"); !errors.Is(err, windows.ERROR_INVALID_HANDLE) {
		t.Errorf("write to a closed source: %v", err)
	}
}

// TestEventLogBounds holds that what is too long is refused and not cut.
func TestEventLogBounds(t *testing.T) {
	log := newLog(t, nil)
	l := source(t, log)
	if err := l.Info(1, strings.Repeat("x", 31839)); err != nil {
		t.Errorf("the longest text: %v", err)
	}
	if err := l.Info(2, strings.Repeat("x", 31840)); !errors.Is(err, boundInvalid) {
		t.Errorf("a text that is too long: %v", err)
	}

	many := make([]uintptr, 257)
	for i := range many {
		many[i] = keptText("x")
	}

	report := func(strings, data int) error {
		bytes := make([]byte, data+1)
		_, err := advapi("ReportEventW", uintptr(l.Handle), 1, 0, 3, 0, uintptr(strings), uintptr(data), address(&many[0]),
			address(&bytes[0]))
		return err
	}
	if err := report(256, 61440); err != nil {
		t.Errorf("256 texts and 61440 bytes: %v", err)
	}

	if err := report(257, 0); !errors.Is(err, boundInvalid) {
		t.Errorf("257 texts: %v", err)
	}
	if err := report(0, 61441); !errors.Is(err, boundInvalid) {
		t.Errorf("61441 bytes: %v", err)
	}
	if got := len(events(t, log, "*", 0)); got != 2 {
		t.Errorf("%d events", got)
	}
}

// record is a part of an EVENTLOGRECORD.
type record struct {
	id, event    uint32
	source, text string
	data, sid    []byte
}

func records(t *testing.T, buffer []byte) []record {
	t.Helper()
	var all []record
	for len(buffer) > 0 {
		n := func(at int) uint32 { return binary.LittleEndian.Uint32(buffer[at:]) }
		length := n(0)
		if n(4) != 0x654c664c || n(int(length)-4) != length {
			t.Fatalf("a record of %d bytes: % x", length, buffer[:length])
		}

		r := record{
			id:     n(8),
			event:  n(20),
			source: textAt(buffer[56:]),
			data:   buffer[n(52) : n(52)+n(48)],
			sid:    buffer[n(44) : n(44)+n(40)],
		}

		if binary.LittleEndian.Uint16(buffer[26:]) > 0 {
			r.text = textAt(buffer[n(36):])
		}
		all = append(all, r)
		buffer = buffer[length:]
	}

	return all
}

func textAt(b []byte) string {
	return windows.UTF16PtrToString((*uint16)(unsafe.Pointer(&b[0])))
}

// TestEventLogReading reads a log with the older functions, in both directions and from a place.
func TestEventLogReading(t *testing.T) {
	log := newLog(t, nil)
	l := source(t, log)
	sid, err := windows.CreateWellKnownSid(windows.WinLocalSystemSid)
	if err != nil {
		t.Fatal(err)
	}

	text, data := keptText("with all"), []byte{1, 2, 3, 4, 5}
	if _, err := advapi("ReportEventW", uintptr(l.Handle), 1, 9, 0xc0000007, uintptr(unsafe.Pointer(sid)), 1, 5,
		address(&text), address(&data[0])); err != nil {
		t.Fatal(err)
	}

	for i := range 4 {
		if err := l.Info(uint32(i+1), fmt.Sprint("text ", i)); err != nil {
			t.Fatal(err)
		}
	}

	handle, err := advapi("OpenEventLogW", 0, keptText(log))
	if err != nil {
		t.Fatal(err)
	}
	defer advapi("CloseEventLog", handle)
	var number, oldest, read, needed uint32
	if _, err := advapi("GetNumberOfEventLogRecords", handle, address(&number)); err != nil || number != 5 {
		t.Errorf("%d records, %v", number, err)
	}

	if _, err := advapi("GetOldestEventLogRecord", handle, address(&oldest)); err != nil || oldest != 1 {
		t.Errorf("the oldest is %d, %v", oldest, err)
	}

	buffer := make([]byte, 0x10000)
	get := func(flags, from, size uintptr) ([]record, error) {
		_, err := advapi("ReadEventLogW", handle, flags, from, address(&buffer[0]), size, address(&read), address(&needed))
		if err != nil {
			return nil, err
		}
		return records(t, buffer[:read]), nil
	}

	if _, err := get(5, 0, 100); !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) || read != 0 || needed <= 100 {
		t.Errorf("a small buffer: %v, %d, %d", err, read, needed)
	}
	got, err := get(5, 0, uintptr(needed))
	if err != nil || len(got) != 1 || got[0].id != 1 || got[0].event != 0xc0000007 || got[0].source != log+"Src" ||
		got[0].text != "with all" || string(got[0].data) != string(data) || len(got[0].sid) != sid.Len() {
		t.Errorf("the first record: %+v, %v", got, err)
	}

	if got, err := get(5, 0, 0x10000); err != nil || len(got) != 4 || got[3].text != "text 3" {
		t.Errorf("the other records: %+v, %v", got, err)
	}
	if _, err := get(5, 0, 0x10000); !errors.Is(err, windows.ERROR_HANDLE_EOF) {
		t.Errorf("the end: %v", err)
	}
	if got, err := get(9, 0, 0x10000); err != nil || len(got) != 4 || got[0].id != 4 || got[3].id != 1 {
		t.Errorf("backward from the end: %+v, %v", got, err)
	}

	if got, err := get(6, 3, 0x10000); err != nil || len(got) != 3 || got[0].id != 3 {
		t.Errorf("from the third on: %+v, %v", got, err)
	}
	if got, err := get(10, 3, 0x10000); err != nil || len(got) != 3 || got[2].id != 1 {
		t.Errorf("from the third back: %+v, %v", got, err)
	}
	if _, err := get(6, 99, 0x10000); !errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		t.Errorf("from a record that there is not: %v", err)
	}

	if _, err := get(3, 0, 0x10000); !errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		t.Errorf("without a direction: %v", err)
	}
	if _, err := advapi("ClearEventLogW", handle,
		keptText(`C:\saved.evtx`)); !errors.Is(err, windows.ERROR_NOT_SUPPORTED) {
		t.Errorf("save and clear: %v", err)
	}

	if _, err := advapi("ClearEventLogW", handle, 0); err != nil {
		t.Errorf("clear: %v", err)
	}
	if _, err := advapi("GetNumberOfEventLogRecords", handle, address(&number)); err != nil || number != 0 {
		t.Errorf("%d records after clearing, %v", number, err)
	}
	if err := l.Info(9, "anew"); err != nil {
		t.Error(err)
	}

	if got, err := get(5, 0, 0x10000); err != nil || len(got) != 1 || got[0].text != "anew" || got[0].id != 6 {
		t.Errorf("after clearing: %+v, %v", got, err)
	}
	if _, err := advapi("BackupEventLogW", handle, keptText(`C:\saved.evtx`)); err == nil {
		t.Error("a log was saved")
	}
}

// TestEventLogANSI writes and reads by the functions for ANSI text, and is told of a new event.
func TestEventLogANSI(t *testing.T) {
	log := newLog(t, nil)
	ansi := func(s string) *byte { return &append([]byte(s), 0)[0] }
	name, sourceName, text := ansi(log), ansi(log+"Src"), ansi("plain")
	handle, err := advapi("OpenEventLogA", 0, address(name))
	if err != nil {
		t.Fatal(err)
	}
	defer advapi("CloseEventLog", handle)
	signal, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}

	defer windows.CloseHandle(signal)
	if _, err := advapi("NotifyChangeEventLog", handle, uintptr(signal)); err != nil {
		t.Fatal(err)
	}
	if got, err := windows.WaitForSingleObject(signal, 500); err != nil || got != uint32(windows.WAIT_TIMEOUT) {
		t.Errorf("told without an event: %d, %v", got, err)
	}

	writer, err := advapi("RegisterEventSourceA", 0, address(sourceName))
	if err != nil {
		t.Fatal(err)
	}
	defer advapi("DeregisterEventSource", writer)
	if _, err := advapi("ReportEventA", writer, 4, 0, 1, 0, 1, 0, address(&text), 0); err != nil {
		t.Fatal(err)
	}

	if got, err := windows.WaitForSingleObject(signal, 10000); err != nil || got != windows.WAIT_OBJECT_0 {
		t.Errorf("not told of the event: %d, %v", got, err)
	}
	buffer := make([]byte, 4096)
	var read, needed uint32
	if _, err := advapi("ReadEventLogA", handle, 5, 0, address(&buffer[0]), 4096, address(&read),
		address(&needed)); err != nil {
		t.Fatal(err)
	}

	at := binary.LittleEndian.Uint32(buffer[36:])
	if got := windows.BytePtrToString(&buffer[56]); got != log+"Src" {
		t.Errorf("source %q", got)
	}
	if got := windows.BytePtrToString(&buffer[at]); got != "plain" {
		t.Errorf("text %q", got)
	}
}
