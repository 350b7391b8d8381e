package shell_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mullion.dev/mullion/guest/cmdexe/constructs"
	"mullion.dev/mullion/guest/cmdexe/shell"
)

// FuzzBatch runs batch files of any kind. They may fail, but not crash, and end when their steps are used up.
func FuzzBatch(f *testing.F) {
	for _, b := range constructs.All() {
		f.Add(b.Script)
	}

	f.Add("for /l %%i in (1,0,2) do echo x")
	f.Add(":a\ngoto a")
	f.Add("call %0\n%0|%0")
	f.Add(strings.Repeat("(", 2000) + "\n" + strings.Repeat("if 1==1 ", 900) + "\n" + strings.Repeat("a&", 3000))
	f.Add("set /a " + strings.Repeat("(", 3000) + "\nset /a " + strings.Repeat("-", 3000) + "1")

	f.Fuzz(func(t *testing.T, script string) {
		m := newMachine(t)
		m.write("w/t.cmd", script)
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()

		o := m.options([]string{`PATH=C:\bin`}, `C:\w`, [3]*os.File{null, null, null})
		o.CommandLine = "cmd /v:on /c t.cmd a b"
		var steps atomic.Int64
		o.Interrupts = func() bool { return steps.Add(1) > 500 }
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()

		shell.Main(ctx, o)
		if ctx.Err() != nil {
			t.Errorf("it did not end: %q", script)
		}
	})
}
