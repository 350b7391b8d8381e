package logmonitor

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/etw"
)

// recorded returns an event of TraceLogging with many fields, as a session delivered it.
func recorded(t *testing.T) etw.Record {
	t.Helper()
	text, err := os.ReadFile("../../etw/testdata/go-winio.json")
	if err != nil {
		t.Fatal(err)
	}
	var r etw.Record
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTraceFormats has the lines as Microsoft's program prints them
// (https://github.com/microsoft/windows-container-tools/blob/d07608d5/LogMonitor/src/LogMonitor/EtwMonitor.cpp), with
// all escaped that JSON and XML want escaped.
func TestTraceFormats(t *testing.T) {
	short := recorded(t)
	short.Schema = []byte("\x00\x00\x00Said\x00text\x00\x02n\x00\x07v\x00\x02a b\x00\x02")
	short.Data = []byte("a \"b\"\r\nc <&>\x00\xfb\xff\xff\xff1.50\x00007\x00")
	manifest := etw.Record{
		Provider: short.Provider, ID: 12, Level: 9, Keyword: 1 << 63, Time: short.Time, Data: []byte{1, 0xab},
	}

	text := etw.Record{
		Provider:   short.Provider,
		Time:       short.Time,
		StringOnly: true,
		Data:       []byte("h\x00i\x00\x00\x00"),
	}

	const id = "{EF70F029-8C00-5B39-73CD-F7E595EC0715}"
	for _, tt := range []struct {
		name              string
		r                 etw.Record
		json, xml, custom string
	}{
		{
			"self_described", short,
			`{"Source":"ETW","LogEntry":{"Time":"2026-11-25T04:56:27.087Z","ProviderName":"Mullion.Recorded","ProviderId":"` + id + `","DecodingSource":"DecodingSourceTlg","Execution":{"ProcessId":32,"ThreadId":36},"Level":"Warning","Keyword":"0x140","EventId":"","EventData":{"text":"a \"b\" c <&>","n":-5,"v":1.50,"a b":"007"}},"SchemaVersion":"1.0.0"}`,
			`<Log><Source>ETW</Source><LogEntry><Time>2026-11-25T04:56:27.087Z</Time><ProviderName>Mullion.Recorded</ProviderName><ProviderId>` + id + `</ProviderId><DecodingSource>DecodingSourceTlg</DecodingSource><Execution><ProcessId>32</ProcessId><ThreadId>36</ThreadId></Execution><Level>Warning</Level><Keyword>0x140</Keyword><EventId></EventId><EventData><text>a "b" c &lt;&amp;&gt;</text><n>-5</n><v>1.50</v><a_b>007</a_b></EventData></LogEntry></Log>`,
			"Mullion.Recorded Warning 32/36 0x140  text: a \"b\" c <&> n: -5 v: 1.50 a b: 007 ",
		},
		{
			"of_a_manifest", manifest,
			`{"Source":"ETW","LogEntry":{"Time":"2026-11-25T04:56:27.087Z","ProviderName":"Of the configuration","ProviderId":"` + id + `","DecodingSource":"DecodingSourceXMLFile","Execution":{"ProcessId":0,"ThreadId":0},"Level":"9","Keyword":"0x8000000000000000","EventId":"12","EventData":{"Data":"0x01AB"}},"SchemaVersion":"1.0.0"}`,
			`<Log><Source>ETW</Source><LogEntry><Time>2026-11-25T04:56:27.087Z</Time><ProviderName>Of the configuration</ProviderName><ProviderId>` + id + `</ProviderId><DecodingSource>DecodingSourceXMLFile</DecodingSource><Execution><ProcessId>0</ProcessId><ThreadId>0</ThreadId></Execution><Level>9</Level><Keyword>0x8000000000000000</Keyword><EventId>12</EventId><EventData><Data>0x01AB</Data></EventData></LogEntry></Log>`,
			"Of the configuration 9 0/0 0x8000000000000000 12 Data: 0x01AB ",
		},
		{
			"text", text,
			`{"Source":"ETW","LogEntry":{"Time":"2026-11-25T04:56:27.087Z","ProviderName":"Of the configuration","ProviderId":"` + id + `","DecodingSource":"DecodingSourceXMLFile","Execution":{"ProcessId":0,"ThreadId":0},"Level":"None","Keyword":"0x0","EventId":"0","EventData":{"Header":"hi"}},"SchemaVersion":"1.0.0"}`,
			`<Log><Source>ETW</Source><LogEntry><Time>2026-11-25T04:56:27.087Z</Time><ProviderName>Of the configuration</ProviderName><ProviderId>` + id + `</ProviderId><DecodingSource>DecodingSourceXMLFile</DecodingSource><Execution><ProcessId>0</ProcessId><ThreadId>0</ThreadId></Execution><Level>None</Level><Keyword>0x0</Keyword><EventId>0</EventId><EventData><Header>hi</Header></EventData></LogEntry></Log>`,
			"Of the configuration None 0/0 0x0 0 Header: hi ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := provider{name: "Of the configuration"}
			e, err := p.entry(&tt.r)
			if err != nil {
				t.Error(err)
			}
			custom, unknown := parseTemplate("%ProviderName% %Severity% %ExecutionProcessId%/%ExecutionThreadId% %Keyword% %EventId% %EventData%", traceFields())
			if unknown != nil {
				t.Errorf("unknown fields %q", unknown)
			}

			lines := map[string]string{formatJSON: tt.json, formatXML: tt.xml, formatCustom: tt.custom}
			for format, want := range lines {
				if diff := cmp.Diff(want, e.line(format, custom)); diff != "" {
					t.Errorf("%s: %s", format, diff)
				}
			}

			if !json.Valid([]byte(e.line(formatJSON, custom))) {
				t.Error("it is no JSON")
			}
			if err := xml.Unmarshal([]byte(e.line(formatXML, custom)), new(struct{})); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTraceRecorded has every type of field, in valid JSON and XML.
func TestTraceRecorded(t *testing.T) {
	r := recorded(t)
	e, err := (&provider{multiLine: true}).entry(&r)
	if err != nil {
		t.Fatal(err)
	}
	var line struct {
		LogEntry struct{ EventData map[string]any }
	}

	if err := json.Unmarshal([]byte(e.json()), &line); err != nil {
		t.Fatalf("%v: %s", err, e.json())
	}
	for name, want := range map[string]any{"string": "grüße, \"you\" & <me>\nnext", "int8": -8.0, "bool": "true", "last": "end"} {
		if got := line.LogEntry.EventData[name]; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}

	if err := xml.Unmarshal([]byte(e.xml()), new(struct{})); err != nil {
		t.Error(err)
	}
}

func TestTagName(t *testing.T) {
	for name, want := range map[string]string{"a": "a", "": "_", "1a": "_1a", "a b/>": "a_b__", "größe": "größe", "a:b": "a_b"} {
		if got := tagName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
