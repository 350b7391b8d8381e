package prog

import (
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// TestMessages holds that system errors have Windows' words, which programs and tests compare, that place holders stay
// and a buffer that is too small is told.
func TestMessages(t *testing.T) {
	for code, want := range map[windows.Errno]string{
		1: "Incorrect function.", 3: "The system cannot find the path specified.", 5: "Access is denied.",
		windows.WSAECONNREFUSED: "No connection could be made because the target machine actively refused it.",
		11001:                   "No such host is known.",
		193:                     "%1 is not a valid Win32 application.", // its place holder stays
	} {
		if got := code.Error(); got != want {
			t.Errorf("message of %d: got %q, want %q", uint(code), got, want)
		}
	}

	var text [64]uint16
	n, err := windows.FormatMessage(windows.FORMAT_MESSAGE_FROM_SYSTEM|windows.FORMAT_MESSAGE_IGNORE_INSERTS, 0,
		0x80070005, 0, text[:], nil)
	if got := windows.UTF16ToString(text[:n]); err != nil || got != "Access is denied.\r\n" {
		t.Errorf("message of an HRESULT: %q, %v", got, err)
	}

	if n, err := windows.FormatMessage(windows.FORMAT_MESSAGE_FROM_SYSTEM, 0, 5, 0, text[:4],
		nil); err != windows.ERROR_INSUFFICIENT_BUFFER {
		t.Errorf("a buffer that is too small: %d, %v", n, err)
	}
	out, _ := exec.Command("cmd", "/c", `type C:\no\such\folder\file`).CombinedOutput()
	if !strings.Contains(string(out), "The system cannot find the path specified.") {
		t.Errorf("cmd.exe says %q", out)
	}
}
