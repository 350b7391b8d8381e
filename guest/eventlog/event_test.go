package eventlog

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const sample = "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider Name='A &amp; B'/>" +
	"<EventID Qualifiers='49152'>7</EventID><Version>0</Version><Level>2</Level><Task>3</Task><Opcode>0</Opcode>" +
	"<Keywords>0x80000000000000</Keywords><TimeCreated SystemTime='2026-01-02T03:04:05.0000006Z'/>" +
	"<EventRecordID>12</EventRecordID><Correlation/><Execution ProcessID='8' ThreadID='9'/><Channel>Application</Channel>" +
	"<Computer>win-1</Computer><Security UserID='S-1-5-18'/></System>" +
	"<EventData><Data>one</Data><Data></Data><Binary>00FF</Binary></EventData></Event>"

func TestParse(t *testing.T) {
	got, err := Parse(sample)
	want := Event{
		Log: "Application", Provider: "A & B", Computer: "win-1", User: "S-1-5-18", ID: 7, Qualifiers: 49152, Level: 2,
		Task:     3,
		Keywords: 0x80000000000000, Record: 12, Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC),
		Process: 8, Thread: 9,
		Data: []string{"one", ""}, Binary: "00FF", XML: sample,
	}

	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}

	for _, wrong := range []string{"", "<Event>", "<Event></Event>"} {
		if e, err := Parse(wrong); err == nil {
			t.Errorf("%q is the event %+v", wrong, e)
		}
	}
}

func TestFilter(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	for want, f := range map[string]Filter{
		"*":                                   {},
		"*[System[(EventID=1 or EventID=2)]]": {IDs: []int{1, 2}},
		"*[System[Provider[@Name='a' or @Name=\"b's\"] and (Level=2)]]":                                                    {Providers: []string{"a", "b's"}, Levels: []int{2}},
		"*[System[TimeCreated[@SystemTime>='2026-01-02T02:04:05Z'] and TimeCreated[@SystemTime<='2026-01-02T02:04:05Z']]]": {Start: when, End: when},
	} {
		if got, err := f.XPath(); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}

	if got, err := (Filter{Providers: []string{`'"`}}).XPath(); !errors.Is(err, errQuote) {
		t.Errorf("%q, %v", got, err)
	}
}
