package eventcreate

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/eventlog"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// fake is a Windows whose logs are empty.
type fake struct {
	written []eventlog.Entry
	err     error
}

func (w *fake) Logs() ([]string, error) { return []string{"Application", "Security", "System"}, w.err }

func (w *fake) Write(e eventlog.Entry) error {
	w.written = append(w.written, e)
	return w.err
}

type result = programtest.Result

// run runs eventcreate on a fake; the first argument is its name.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	return programtest.Run(input, func(e program.Env) int { return Run(e, w, args[1:]) })
}

func TestEventcreate(t *testing.T) {
	w := &fake{}
	got := run(t, w, "", "eventcreate", "/t", "error", "/ID", "100", "/L", "system", "/D", "a b")
	if want := (result{Out: "\nSUCCESS: An event of type 'ERROR' was created in the 'System' log with 'EventCreate' as the source.\n"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	want := []eventlog.Entry{{Log: "System", Source: "EventCreate", Type: eventlog.ErrorType, ID: 100, Text: "a b"}}
	if diff := cmp.Diff(want, w.written); diff != "" {
		t.Error(diff)
	}

	for _, wrong := range [][]string{
		{"/t", "error", "/id", "1"},
		{"/t", "x", "/id", "1", "/d", "x"},
		{"/t", "error", "/id", "1001", "/d", "x"},
		{"/t", "error", "/id", "0", "/d", "x"},
		{"/t", "error", "/id", "1", "/d", "x", "/l", "none"},
		{"/t", "error", "/id", "1", "/d", "x", "/l", "Security"},
		{"/s", "far", "/t", "error", "/id", "1", "/d", "x"},
		{"/t"},
	} {
		w := &fake{}
		if got := run(t, w, "", append([]string{"eventcreate"}, wrong...)...); got.Code != 1 || got.Err == "" || w.written != nil {
			t.Errorf("%q: %+v, %+v", wrong, got, w.written)
		}
	}

	w.err = errors.New("no room")
	if got := run(t, w, "", "eventcreate", "/t", "error", "/id", "1", "/d", "x"); got.Code != 1 {
		t.Errorf("what cannot be written: %+v", got)
	}
}
