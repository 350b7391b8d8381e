package wmic

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// fake is a Windows whose answers a test sets.
type fake struct {
	piped bool // standard output is a pipe
	err   error
}

func (w *fake) Piped() bool { return w.piped }

// WMIC prints what Wine's wmic does: UTF-16 with a mark.
func (w *fake) WMIC(e program.Env, args []string) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	_, err := e.Stdout.Write(utf16Bytes("\ufeffSerialNumber\r\n" + strings.Join(args, " ") + " é\r\n"))
	return 7, err
}

type result = programtest.Result

// run runs wmic on a fake; the first argument is its name.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	return programtest.Run(input, func(e program.Env) int { return Run(e, w, args[1:]) })
}

// utf16Bytes is a text in UTF-16.
func utf16Bytes(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func TestWMIC(t *testing.T) {
	args := []string{"wmic", "bios", "get", "serialnumber"}
	for name, tc := range map[string]struct {
		system fake
		want   result
	}{
		"pipe":   {fake{piped: true}, result{Code: 7, Out: "SerialNumber\nbios get serialnumber ?\n"}},
		"broken": {fake{piped: true, err: errors.New("no wmic1.exe")}, result{Code: 1, Err: "wmic: no wmic1.exe\n"}},
		"file":   {fake{}, result{Code: 7, Out: string(utf16Bytes("\ufeffSerialNumber\r\nbios get serialnumber é\r\n"))}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, run(t, &tc.system, "", args...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := inConsolesPage([]byte("plain \xff")); got != "plain \xff" {
		t.Errorf("text without a mark: %q", got)
	}
	if got := inConsolesPage([]byte("\xff\xfea\x00b")); got != "a" {
		t.Errorf("half a character: %q", got)
	}
}
