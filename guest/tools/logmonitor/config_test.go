package logmonitor

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/guest/etw"
)

func TestParse(t *testing.T) {
	text, err := os.ReadFile("testdata/every-attribute.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := parse(append([]byte("\xef\xbb\xbf"), text...))
	if err != nil || c.problems != nil {
		t.Fatalf("%v, %q", err, c.problems)
	}

	event, _ := parseTemplate("%EventID% %Message%", eventFields())
	file, _ := parseTemplate(defaultFile, fileFields())
	process, _ := parseTemplate("{'M':'%Message%'}|json", processFields())
	trace, _ := parseTemplate("%ProviderName% %EventData%", traceFields())
	iis := guid.GUID{
		Data1: 0x3a2a4e84, Data2: 0x4c21, Data3: 0x4981, Data4: [8]byte{0xae, 0x10, 0x3f, 0xda, 0x0d, 0x9b, 0x0f, 0x83},
	}

	want := config{
		format: formatCustom,
		channels: []channel{
			{"system", []int{1, 2, 3, 4}, true, false, event},
			{"Application", []int{1, 2}, true, false, event},
		},
		files: []fileSource{
			{dir: `c:\inetpub\logs`, recursive: true, namesFirst: true, wait: 10 * time.Second, custom: file},
			{dir: `D:\`, wait: -1, custom: file},
			{dir: `C:\x`, wait: defaultWait, custom: file},
		},
		process: process,
		providers: []provider{
			{etw.Provider{
				ID:    iis,
				Level: 4,
				Any:   0x8000000000000001,
			}, "IIS: WWW Server", false, trace},
			{etw.Provider{ID: guid.GUID{Data1: 1}, Level: 2}, "", false, trace},
		},
	}

	options := []cmp.Option{
		cmp.AllowUnexported(config{}, channel{}, fileSource{}, provider{}, template{}),
		cmpopts.IgnoreFields(fileSource{}, "filter"),
	}
	if diff := cmp.Diff(want, c, options...); diff != "" {
		t.Error(diff)
	}

	for i, names := range [][]string{{"a.log", "A.LOG"}, {"app1.txt", "x.log"}, {"any", "a.b"}} {
		for _, name := range names {
			if !c.files[i].filter.MatchString(name) {
				t.Errorf("the filter %v does not fit %q", c.files[i].filter, name)
			}
		}
	}

	if c.files[0].filter.MatchString("a.log.1") || c.files[1].filter.MatchString("app10.txt") {
		t.Error("a filter fits too much")
	}
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct{ name, sources, want string }{
		{"no_type", `{}`, "it has no type. This source is left out"},
		{"type", `{"type":"Syslog"}`, `its type is "Syslog". The types are EventLog, File, ETW and Process. This source is left out`},
		{"not_an_object", `5`, "it has to be an object, and is of the kind number. This source is left out"},
		{"null", `null`, "it is null. This source is left out"},
		{"no_channels", `{"type":"EventLog"}`, "channels names no log. This source is left out"},
		{"channel_without_name", `{"type":"eventlog","channels":[{"level":"Error"}]}`, "channels[0] has no name. This source is left out"},
		{
			"level", `{"type":"EventLog","channels":[{"name":"System","level":"Loud"}]}`,
			`channels[0].level is "Loud". The levels are Critical, Error, Warning, Information, Verbose. This source is left out`,
		},
		{"channels", `{"type":"EventLog","channels":"System"}`, "channels has to be a list, and is of the kind string. This source is left out"},
		{"channel_name", `{"type":"EventLog","channels":[{"name":1}]}`, "channels.name has to be a text, and is of the kind number. This source is left out"},
		{"boolean", `{"type":"EventLog","startAtOldestRecord":1,"channels":[{"name":"System"}]}`, "startAtOldestRecord is 1. It has to be true or false. This source is left out"},
		{"no_directory", `{"type":"File"}`, "it has no directory. This source is left out"},
		{"relative", `{"type":"File","directory":"logs"}`, `directory is "logs". It has to be absolute, as C:\logs is. This source is left out`},
		{"unc", `{"type":"File","directory":"\\\\server\\logs"}`, `directory is "\\\\server\\logs". It has to be absolute, as C:\logs is. This source is left out`},
		{"root", `{"type":"File","directory":"C:","includeSubdirectories":true}`, "includeSubdirectories cannot be true for the root directory C:. This source is left out"},
		{"wait", `{"type":"File","directory":"C:\\a","waitInSeconds":-1}`, "waitInSeconds is -1. It has to be a number of seconds, 0 or more, or INFINITY. This source is left out"},
		{"no_providers", `{"type":"ETW","providers":[]}`, "providers names no provider. This source is left out"},
		{"no_guid", `{"type":"ETW","providers":[{"providerName":"IIS: WWW Server"}]}`, "providers[0], IIS: WWW Server, has no providerGuid. There are no installed providers to find it in, so nothing comes from it"},
		{"wrong_guid", `{"type":"ETW","providers":[{"providerGuid":"{1}"}]}`, `providers[0].providerGuid is "{1}", which is no GUID. This source is left out`},
		{
			"keywords", `{"type":"ETW","providers":[{"providerGuid":"3A2A4E84-4C21-4981-AE10-3FDA0D9B0F83","keywords":"all"}]}`,
			`providers[0].keywords is "all". It has to be a number, as 0x10 is. This source is left out`,
		},
		{"unknown_attribute", `{"type":"File","directory":"C:\\a","includeSubfolders":true}`, `unknown field "includeSubfolders", which is no attribute of this type of source, has no effect`},
		{"unknown_field", `{"type":"Process","customLogFormat":"%Level% %Message%"}`, "customLogFormat has the field %Level%, which stays empty. The fields are Source, TimeStamp, Message"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parse([]byte(`{"LogConfig":{"sources":[` + tt.sources + `]}}`))
			if diff := cmp.Diff([]string{"LogConfig.sources[0]: " + tt.want}, c.problems); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if left := strings.Contains(tt.want, "left out"); left && len(c.channels)+len(c.files)+len(c.providers) > 0 {
				t.Errorf("the source is not left out: %+v", c)
			}
		})
	}

	c, err := parse([]byte(`{"LOGCONFIG":{"logformat":"YAML","Sources":[]}}`))
	want := []string{`LogConfig.logFormat is "YAML". The formats are JSON, XML and Custom; JSON is used`}
	if diff := cmp.Diff(want, c.problems); diff != "" || err != nil || c.format != formatJSON {
		t.Errorf("%v, %s\n%s", err, c.format, diff)
	}
}

func TestUnusable(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "line 1, column 1: unexpected end of JSON input",
		"{\n  \"LogConfig\": {,\n":      "line 2, column 17: invalid character ',' looking for beginning of object key string",
		"[]":                            "it has to be an object, and is of the kind array",
		"{}":                            "it has no LogConfig",
		`{"LogConfig":{}}`:              "LogConfig has no list sources",
		`{"LogConfig":{"sources":{}}}`:  "LogConfig.sources has to be a list, and is of the kind object",
		`{"LogConfig":{"logFormat":1}}`: "LogConfig.logFormat has to be a text, and is of the kind number",
	} {
		if _, err := parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse checks that no configuration brings the parser or what it makes of it to a panic, and that each line of
// output is one line where the message is.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/every-attribute.json")
	if err != nil {
		f.Fatal(err)
	}

	f.Add(text)
	for _, seed := range []string{
		"", "{", "[]", `{"LogConfig":{"sources":[null,1,{}]}}`, `{"LogConfig":{"logFormat":"custom","sources":[{"type":"process","customLogFormat":"%%%|json"}]}}`,
		`{"logconfig":{"sources":[{"type":"file","directory":"c:/a","filter":";*(?","waitInSeconds":"∞"}]}}`,
		`{"LogConfig":{"sources":[{"type":"eventlog","channels":[{"name":"\u0000","level":"verbose"}]}]}}`,
		`{"LogConfig":{"sources":[{"type":"etw","providers":[{"providerGuid":"{3A2A4E84-4C21-4981-AE10-3FDA0D9B0F83}","keywords":"010"}]}]}}`,
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parse(text)
		if err != nil {
			return
		}

		for _, file := range c.files {
			file.filter.MatchString("a.log")
			if file.wait < -1 || !strings.HasPrefix(file.dir[1:], `:\`) {
				t.Errorf("%+v", file)
			}
		}

		for _, format := range []string{formatJSON, formatXML, formatCustom} {
			_ = entry{from: fromProcess, message: "a"}.line(format, c.process)
		}
	})
}
