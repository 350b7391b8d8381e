package network

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func TestIpconfigErrors(t *testing.T) {
	const head = "\nWindows IP Configuration\n\n"
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("list adapters: %w", syscall.Errno(111)), "error 111"},
		{errors.New("nothing there"), "nothing there"},
	} {
		want := result{
			Code: 1,
			Out:  head,
			Err:  "An internal error occurred: the adapters cannot be listed (" + tc.want + ").\n",
		}
		if got := run(t, &fake{err: tc.err}, "", "ipconfig"); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}

	if got := run(t, &fake{}, "", "ipconfig", "-FLUSHDNS"); got.Code != 0 || !strings.Contains(got.Out, "flushed") {
		t.Errorf("%+v", got)
	}
}
