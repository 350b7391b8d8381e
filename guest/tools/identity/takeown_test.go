package identity

import (
	"strings"
	"testing"

	"mullion.dev/mullion/guest/tools/program/programtest"
)

func TestTakeown(t *testing.T) {
	t.Chdir(t.TempDir())
	programtest.Write(t, ".", map[string]string{"f/a": "", "f/sub/b": ""})
	w := &fake{owners: map[string]string{}}
	if got := run(t, w, "", "takeown", "/f", "f", "/r", "/d", "y"); got.Code != 0 ||
		!strings.Contains(got.Out, `SUCCESS: The file (or folder): "f/sub/b" now owned by user "WIN-1\ADMIN".`) ||
		w.owners["b"] != "S-1-5-21-1-2-3-500" {
		t.Errorf("%+v, %v", got, w.owners)
	}

	if got := run(t, w, "", "takeown", "/A", "/F", "f"); got.Code != 0 || w.owners["f"] != "S-1-5-32-544" {
		t.Errorf("%+v, %v", got, w.owners)
	}

	for line, want := range map[string]string{
		"takeown":         "Mandatory option '/f' is missing.",
		"takeown /f":      "Value expected for '/f'.",
		"takeown /f none": "File or Directory not found.",
		"takeown /x":      "Invalid argument/option - '/x'.",
	} {
		if got := run(t, w, "", strings.Fields(line)...); got.Code != 1 || !strings.Contains(got.Err, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
