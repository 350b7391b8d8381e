package hostdisk

import (
	"fmt"
	"strings"
	"testing"
)

func TestHear(t *testing.T) {
	for in, want := range map[string]string{
		`{"do":"get"}`:                 "",
		`{"do":"initialize","disk":1}`: "",

		`{"do":"attach","size":419430400,"label":"größe"}`:                                 "",
		`{"do":"addPath","disk":1,"partition":2,"path":"E:"}`:                              "",
		`{"do":"addPath","disk":1,"partition":2,"path":"C:\\var\\lib"}`:                    "",
		`{"do":"addPath","disk":1,"partition":2,"path":"C:"}`:                              "neither a free drive",
		`{"do":"addPath","disk":1,"partition":2,"path":"C:\\"}`:                            "neither a free drive",
		`{"do":"addPath","disk":1,"partition":2,"path":"D:\\x"}`:                           "neither a free drive",
		`{"do":"addPath","disk":1,"partition":2,"path":"\\\\server\\share"}`:               "neither a free drive",
		`{"do":"addPath","disk":1,"partition":2,"path":"C:\\a\u001bb"}`:                    "neither a free drive",
		`{"do":"addPath","disk":1,"partition":2,"path":"C:\\a\u009bb"}`:                    "neither a free drive",
		`{"do":"addPath","disk":1,"partition":2,"path":"C:\\a:b"}`:                         "neither a free drive",
		`{"do":"addPath","disk":1,"path":"E:"}`:                                            "not named",
		`{"do":"addPath","disk":1,"partition":2,"path":"C:\\` + strings.Repeat("a", 300):   "EOF",
		`{"do":"format","disk":1}`:                                                         "not named",
		`{"do":"format","disk":1,"partition":2,"label":"` + strings.Repeat("l", 33) + `"}`: "not a label",
		`{"do":"format","disk":1,"partition":2,"label":"a\u0007"}`:                         "not a label",
		`{"do":"attach","size":1}`:                                                         "at least 320 MiB",
		`{"do":"attach","size":-1}`:                                                        "not a size",
		`{"do":"grow","disk":1,"size":9223372036854775807}`:                                "not a size",
		`{"do":"shred","disk":1}`:                                                          "not a request",
		`{"do":"get","disk":-1}`:                                                           "cannot unmarshal",
		`{`:                                                                                "EOF",
	} {
		_, err := Call().Hear(strings.NewReader(in), true)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestPaths(t *testing.T) {
	for in, want := range map[string]string{`e:\`: "E:", "e:": "E:", `C:\a\`: `C:\a`, "c:/a/b": `c:\a\b`, `C:\`: "C:"} {
		if got := CleanPath(in); got != want {
			t.Errorf("CleanPath(%q) = %q, want %q", in, got, want)
		}
	}
	p := Part{GUID: "g", Paths: []string{`C:\a`, "E:"}}
	if got := fmt.Sprint(p.Letter(), p.Volume()); got != `E\\?\Volume{g}\` {
		t.Error(got)
	}
}

func FuzzHear(f *testing.F) {
	f.Add(`{"do":"addPath","disk":1,"partition":2,"path":"C:\\var"}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := Call().Hear(strings.NewReader(in), true)
		if err == nil && r.Path != "" && r.Do == AddPath && !IsLetter(r.Path) && (!strings.EqualFold(r.Path[:3], `C:\`) ||
			strings.ContainsAny(r.Path, "\x00\n\x1b/")) {
			t.Errorf("%q is heard with the path %q", in, r.Path)
		}
	})
}
