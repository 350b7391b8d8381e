package prog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// TestEventLogQueries holds the part of XPath that people use.
func TestEventLogQueries(t *testing.T) {
	log := newLog(t, nil)
	l := source(t, log)
	if err := errors.Join(l.Info(1, "a"), l.Warning(2, "b"), l.Error(3, "c"), l.Info(4, "d")); err != nil {
		t.Fatal(err)
	}

	now := time.Now().UTC()
	for query, want := range map[string]string{
		"*":                                     "1 2 3 4",
		"*[System[(Level=2 or Level=3)]]":       "2 3",
		"*[System[(Level=1  or Level=2)]]":      "3",
		"*[System[EventID=4]]":                  "4",
		"*[System[not(EventID=4)]]":             "1 2 3",
		"*[System[(EventID>=2 and EventID<4)]]": "2 3",
		"*[System[Provider[@Name='" + log + "Src'] and Level=4]]":                                 "1 4",
		"*[System[Provider[@Name='x' or @Name='y']]]":                                             "",
		"*[System[EventRecordID > 2]]":                                                            "3 4",
		"*[System/Level=3]":                                                                       "2",
		"Event/System[Task = 0 and EventID != 1]":                                                 "2 3 4",
		"*[EventData[Data='b']]":                                                                  "2",
		"*[EventData[Data and (Data=\"c\")]]":                                                     "3",
		"*[EventData[Data[@Name='x']='b']]":                                                       "",
		"*[System[TimeCreated[timediff(@SystemTime) <= 60000]]]":                                  "1 2 3 4",
		"*[System[TimeCreated[timediff(@SystemTime) > 60000]]]":                                   "",
		"*[System[TimeCreated[@SystemTime>='" + now.Add(-time.Hour).Format(time.RFC3339) + "']]]": "1 2 3 4",
		"*[System[TimeCreated[@SystemTime>='" + now.Add(-time.Hour).Format("2006-01-02T15:04:05.000Z") +
			"' and @SystemTime<='" + now.Add(-time.Minute).Format(time.RFC3339Nano) + "']]]": "",
		"*[System[band(Keywords,36028797018963968)]]":                                                            "1 2 3 4",
		"*[System[Keywords='0x80000000000000']]":                                                                 "1 2 3 4",
		"*[System[Channel='" + strings.ToUpper(log) + "']]":                                                      "1 2 3 4",
		"*[System[Security[@UserID='S-1-5-18']]]":                                                                "",
		"<QueryList><Query Id='0' Path='" + log + "'><Select>*[System[Level&lt;4]]</Select></Query></QueryList>": "2 3",
		`<QueryList><Query Id="0"><Select Path="` + log + `">*</Select><Suppress Path="` + log +
			`">*[System[(EventID=1)]]</Suppress></Query></QueryList>`: "2 3 4",
	} {
		if got := values(events(t, log, query, 0), "<EventRecordID>", "<"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}

	for query, want := range map[string]error{
		"*[": evtInvalidQuery, "[System]": evtInvalidQuery, "*[System[Level=]]": evtInvalidQuery, "x": evtInvalidQuery,
		"*[System[Level='2]]": evtInvalidQuery, "*[System[position()=1]]": evtInvalidQuery, "* *": evtInvalidQuery,
		"*[System[TimeCreated[@SystemTime>='yesterday']]]": evtInvalidQuery, "<QueryList></QueryList>": evtInvalidQuery,
		strings.Repeat("*[", 1) + strings.Repeat("(", 100) + "Level=1": syscall.Errno(15026),
	} {
		if set, err := evt("EvtQuery", 0, keptText(log), keptText(query), 1); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", query, set, err)
		}
	}

	if _, err := evt("EvtQuery", 0, keptText("No such log"), 0, 1); !errors.Is(err, evtChannelNotFound) {
		t.Errorf("a log that there is not: %v", err)
	}
	if _, err := evt("EvtQuery", 0, keptText(`C:\x.evtx`), 0, 2); !errors.Is(err, windows.ERROR_NOT_SUPPORTED) {
		t.Errorf("a saved log: %v", err)
	}
}

// variant is an EVT_VARIANT.
type variant struct {
	value       uint64
	count, kind uint32
}

// TestEventLogValues renders events as values.
func TestEventLogValues(t *testing.T) {
	log := newLog(t, nil)
	if err := source(t, log).Error(5, "text"); err != nil {
		t.Fatal(err)
	}
	set, err := evt("EvtQuery", 0, keptText(log), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer evt("EvtClose", set)

	var event uintptr
	var returned, used, count uint32
	if _, err := evt("EvtNext", set, 1, address(&event), 0, 0, address(&returned)); err != nil {
		t.Fatal(err)
	}
	defer evt("EvtClose", event)

	get := func(context uintptr) []variant {
		t.Helper()
		if _, err := evt("EvtRender", context, event, 0, 0, 0, address(&used),
			address(&count)); !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) {
			t.Fatalf("without a buffer: %v", err)
		}

		buffer := make([]variant, used/16+1)
		if _, err := evt("EvtRender", context, event, 0, uintptr(used), address(&buffer[0]), address(&used),
			address(&count)); err != nil {
			t.Fatal(err)
		}

		return slices.Clone(buffer)
	}

	text := func(v variant) string {
		if v.kind != 1 || v.value == 0 {
			return fmt.Sprint("kind ", v.kind)
		}
		return windows.UTF16PtrToString(*(**uint16)(unsafe.Pointer(&v.value)))
	}

	system, err := evt("EvtCreateRenderContext", 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer evt("EvtClose", system)
	v := get(system)
	if count != 18 || v[2].value != 5 || v[2].kind != 6 || v[4].value != 2 || v[4].kind != 4 || v[9].value != 1 ||
		v[9].kind != 10 || v[8].kind != 17 || v[7].kind != 21 || v[16].kind != 0 {
		t.Errorf("%d values of System: %+v", count, v)
	}

	user, err := evt("EvtCreateRenderContext", 0, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer evt("EvtClose", user)
	if v := get(user); count != 1 || v[0].kind != 1 {
		t.Errorf("%d values of EventData: %+v", count, v)
	}

	paths := []uintptr{keptText("Event/System/Channel"), keptText("Event/EventData/Data[1]"), keptText("Event/UserData/x")}
	some, err := evt("EvtCreateRenderContext", 3, address(&paths[0]), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer evt("EvtClose", some)
	buffer := make([]variant, 64)
	if _, err := evt("EvtRender", some, event, 0, 1024, address(&buffer[0]), address(&used),
		address(&count)); err != nil {
		t.Fatal(err)
	}

	if a, b := text(buffer[0]), text(buffer[1]); a != log || b != "text" || buffer[2].kind != 0 {
		t.Errorf("values of paths: %q, %q, %+v", a, b, buffer[2])
	}
	if _, err := evt("EvtRender", set, event, 0, 1024, address(&buffer[0]), address(&used),
		address(&count)); !errors.Is(err, windows.ERROR_INVALID_HANDLE) {
		t.Errorf("another handle as context: %v", err)
	}

	if _, err := evt("EvtExportLog", 0, keptText(log), 0, keptText(`C:\x.evtx`),
		1); !errors.Is(err, windows.ERROR_NOT_SUPPORTED) {
		t.Errorf("EvtExportLog: %v", err)
	}
}

// next waits for an event of a subscription and returns its text, and the handle that the caller closes.
func next(t *testing.T, subscription uintptr, signal windows.Handle) (string, uintptr) {
	t.Helper()
	for range 20 {
		if got, err := windows.WaitForSingleObject(signal, 10000); err != nil || got != windows.WAIT_OBJECT_0 {
			t.Fatalf("no event within ten seconds: %d, %v", got, err)
		}
		_ = windows.ResetEvent(signal)
		var event uintptr
		var returned uint32
		if _, err := evt("EvtNext", subscription, 1, address(&event), 0, 0, address(&returned)); err == nil {
			return piece(render(t, 0, event, 1), "<Data>", "</Data>"), event
		}
	}

	t.Fatal("signals without events")
	return "", 0
}

// TestEventLogSubscription subscribes in all three ways, and goes on at a bookmark.
func TestEventLogSubscription(t *testing.T) {
	log := newLog(t, nil)
	l := source(t, log)
	if err := l.Info(1, "old"); err != nil {
		t.Fatal(err)
	}
	signal, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}

	defer windows.CloseHandle(signal)
	subscribe := func(query string, bookmark, flags uintptr) uintptr {
		t.Helper()
		s, err := evt("EvtSubscribe", 0, uintptr(signal), keptText(log), keptText(query), bookmark, 0, 0, flags)
		if err != nil {
			t.Fatalf("EvtSubscribe: %v", err)
		}
		return s
	}

	future := subscribe("*[System[EventID!=99]]", 0, 1)
	begun := time.Now()
	if err := errors.Join(l.Info(99, "not this"), l.Info(2, "new")); err != nil {
		t.Fatal(err)
	}
	text, event := next(t, future, signal)
	if text != "new" {
		t.Errorf("a new event: %q", text)
	}

	t.Logf("a new event after %v", time.Since(begun))
	bookmark, err := evt("EvtCreateBookmark", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evt("EvtUpdateBookmark", bookmark, event); err != nil {
		t.Fatal(err)
	}

	saved := render(t, 0, bookmark, 2)
	if !strings.Contains(saved, "<Bookmark Channel='"+log+"' RecordId='3' IsCurrent='true'/>") {
		t.Errorf("the bookmark: %s", saved)
	}
	for _, h := range []uintptr{event, bookmark, future} {
		if _, err := evt("EvtClose", h); err != nil {
			t.Errorf("close: %v", err)
		}
	}

	if err := l.Info(4, "missed"); err != nil {
		t.Fatal(err)
	}
	if bookmark, err = evt("EvtCreateBookmark", keptText(saved)); err != nil {
		t.Fatal(err)
	}

	after := subscribe("*", bookmark, 3)
	text, event = next(t, after, signal)
	if text != "missed" {
		t.Errorf("after the bookmark: %q", text)
	}

	evt("EvtClose", event)
	evt("EvtClose", after)
	oldest := subscribe("*", 0, 2)
	if text, event = next(t, oldest, signal); text != "old" {
		t.Errorf("from the oldest: %q", text)
	}

	evt("EvtClose", event)
	evt("EvtClose", oldest)
	if _, err := evt("EvtSubscribe", 0, 0, keptText(log), 0, 0, 0, 0,
		1); !errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		t.Errorf("without an event and a callback: %v", err)
	}
	if _, err := evt("EvtCreateBookmark", keptText("<x/>")); err == nil {
		t.Error("a bookmark that is none")
	}
}

// TestEventLogCallback has events delivered to a function.
func TestEventLogCallback(t *testing.T) {
	log := newLog(t, nil)
	l := source(t, log)
	got := make(chan string, 16)
	callback := syscall.NewCallback(func(action, context, event uintptr) uintptr {
		var used, properties uint32
		buffer := make([]uint16, 4096)
		if _, err := evt("EvtRender", 0, event, 1, 8192, address(&buffer[0]), address(&used),
			address(&properties)); err != nil {
			got <- err.Error()
			return 0
		}
		got <- fmt.Sprint(action, context, piece(windows.UTF16ToString(buffer), "<Data>", "<"))
		return 0
	})

	s, err := evt("EvtSubscribe", 0, 0, keptText(log), 0, 0, 42, callback, 1)
	if err != nil {
		t.Fatal(err)
	}

	for _, text := range []string{"one", "two"} {
		if err := l.Info(1, text); err != nil {
			t.Fatal(err)
		}

		select {
		case is := <-got:
			if is != "1 42 "+text && is != "1 42"+text {
				t.Errorf("delivered %q", is)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("nothing is delivered")
		}
	}

	if _, err := evt("EvtClose", s); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := evt("EvtClose", s); !errors.Is(err, windows.ERROR_INVALID_HANDLE) {
		t.Errorf("close again: %v", err)
	}
}

// TestEventLogMessages holds the messages of events: with a file, with the strings, and without.
func TestEventLogMessages(t *testing.T) {
	message := func(log string, flags uintptr) (string, error) {
		t.Helper()
		set, err := evt("EvtQuery", 0, keptText(log), 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer evt("EvtClose", set)
		var event uintptr
		var returned, used uint32
		if _, err := evt("EvtNext", set, 1, address(&event), 0, 0, address(&returned)); err != nil {
			t.Fatal(err)
		}

		defer evt("EvtClose", event)
		publisher, err := evt("EvtOpenPublisherMetadata", 0, keptText(log+"Src"), 0, 0, 0)
		if err != nil {
			return "", err
		}
		defer evt("EvtClose", publisher)
		_, err = evt("EvtFormatMessage", publisher, event, 0, 0, 0, flags, 0, 0, address(&used))
		if !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) {
			return "", err
		}

		buffer := make([]uint16, used)
		_, err = evt("EvtFormatMessage", publisher, event, 0, 0, 0, flags, uintptr(used), address(&buffer[0]), address(&used))
		return windows.UTF16ToString(buffer), err
	}

	t.Run("none", func(t *testing.T) {
		log := newLog(t, nil)
		if err := source(t, log).Info(1, "x"); err != nil {
			t.Fatal(err)
		}
		if text, err := message(log, 1); !errors.Is(err, evtMessageNotFound) {
			t.Errorf("%q, %v", text, err)
		}

		if text, err := message(log, 2); err != nil || text != "Information" {
			t.Errorf("level: %q, %v", text, err)
		}
		if _, err := evt("EvtOpenPublisherMetadata", 0, keptText("not registered"), 0, 0,
			0); !errors.Is(err, windows.ERROR_FILE_NOT_FOUND) {
			t.Errorf("a source that is not registered: %v", err)
		}
	})

	t.Run("eventcreate", func(t *testing.T) {
		log := newLog(t, map[string]string{"EventMessageFile": `%SystemRoot%\System32\EventCreate.exe`})
		if err := source(t, log).Info(1, "100% of %1"); err != nil {
			t.Fatal(err)
		}
		if text, err := message(log, 1); err != nil || text != "100% of %1" {
			t.Errorf("%q, %v", text, err)
		}

		if text, err := message(log, 9); err != nil || !strings.Contains(text, "<Message>100% of %1</Message>") {
			t.Errorf("as XML: %q, %v", text, err)
		}
	})

	// message 193 of Windows' and of Wine's library: %1 is not a valid Win32 application.
	t.Run("file", func(t *testing.T) {
		log := newLog(t, map[string]string{"EventMessageFile": `C:\none.dll;%SystemRoot%\System32\kernelbase.dll;%SystemRoot%\System32\kernel32.dll`})
		if err := source(t, log).Info(193, "prog.exe"); err != nil {
			t.Fatal(err)
		}
		if text, err := message(log, 1); err != nil || !strings.Contains(text, "prog.exe") {
			t.Errorf("%q, %v", text, err)
		}
	})

	t.Run("string that is missing", func(t *testing.T) {
		log := newLog(t, map[string]string{"EventMessageFile": `%SystemRoot%\System32\kernelbase.dll;%SystemRoot%\System32\kernel32.dll`})
		if _, err := advapi("ReportEventW", uintptr(source(t, log).Handle), 4, 0, 193, 0, 0, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		if text, err := message(log, 1); !errors.Is(err, evtUnresolved) || !strings.Contains(text, "%1") {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// TestEventLogNames lists logs, sources and what a log has.
func TestEventLogNames(t *testing.T) {
	log := newLog(t, nil)
	if err := source(t, log).Info(1, "x"); err != nil {
		t.Fatal(err)
	}

	list := func(open, next string) []string {
		handle, err := evt(open, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer evt("EvtClose", handle)

		var names []string
		for {
			var used uint32
			buffer := make([]uint16, 256)
			if _, err := evt(next, handle, 0, 0, address(&used)); errors.Is(err, windows.ERROR_NO_MORE_ITEMS) {
				return names
			}
			if _, err := evt(next, handle, 256, address(&buffer[0]), address(&used)); err != nil {
				t.Fatal(err)
			}
			names = append(names, windows.UTF16ToString(buffer))
		}
	}

	channels := list("EvtOpenChannelEnum", "EvtNextChannelPath")
	for _, name := range []string{"Application", "System", "Security", "Setup", log} {
		if !slices.Contains(channels, name) {
			t.Errorf("%s is not among %q", name, channels)
		}
	}

	if names := list("EvtOpenPublisherEnum", "EvtNextPublisherId"); !slices.Contains(names, log+"Src") {
		t.Errorf("the source is not among %q", names)
	}
	handle, err := evt("EvtOpenLog", 0, keptText(log), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer evt("EvtClose", handle)

	var v variant
	var used uint32
	if _, err := evt("EvtGetLogInfo", handle, 5, 16, address(&v),
		address(&used)); err != nil || v.value != 1 || v.kind != 10 {
		t.Errorf("number of records: %+v, %v", v, err)
	}

	config, err := evt("EvtOpenChannelConfig", 0, keptText(log), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer evt("EvtClose", config)
	if _, err := evt("EvtGetChannelConfigProperty", config, 8, 0, 16, address(&v),
		address(&used)); err != nil || v.value != 20<<20 {
		t.Errorf("largest size: %+v, %v", v, err)
	}
}
