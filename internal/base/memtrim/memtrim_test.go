package memtrim

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const program = "/opt/mull ion"

func TestRead(t *testing.T) {
	const smaps = `00400000-00500000 r-xp 00000000 fe:00 77                                 /opt/mull ion
Rss:                 100 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00500000-00600000 r--p 00100000 fe:00 77                                 /opt/mull ion
Anonymous:             0 kB
00600000-00700000 r--p 00200000 fe:00 77                                 /opt/mull ion
Anonymous:             4 kB
00700000-00800000 rw-p 00300000 fe:00 77                                 /opt/mull ion
Anonymous:             0 kB
00800000-00900000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000100000 r--p 00000000 fe:00 78                         /opt/other
Anonymous:             0 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Anonymous:             0 kB
`

	got, err := read(strings.NewReader(smaps), program)
	want := []mapping{{0x400000, 0x500000}, {0x500000, 0x600000}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %x, %v, want %x: what was written would be lost", got, err, want)
	}
}

func TestReadOfNonsense(t *testing.T) {
	for _, smaps := range []string{
		"zz-00500000 r-xp 0 fe:00 7 /opt/mull ion\nAnonymous: 0 kB\n",
		"00400000 r-xp 0 fe:00 7 /opt/mull ion\nAnonymous: 0 kB\n",
	} {
		if got, err := read(strings.NewReader(smaps), program); err == nil {
			t.Errorf("%q is read as %x", smaps, got)
		}
	}

	for _, smaps := range []string{"", "Anonymous: 0 kB\n", "\n\n", "00500000-00400000 r-xp 0 fe:00 7 /opt/mull ion\nAnonymous: 0 kB\n"} {
		if got, err := read(strings.NewReader(smaps), program); err != nil || len(got) > 0 {
			t.Errorf("%q is read as %x, %v", smaps, got, err)
		}
	}
}

// TestRelease looks at how much of this test's program is in its memory: less afterwards, and it still runs.
func TestRelease(t *testing.T) {
	text, err := os.ReadFile("/proc/self/exe") // as the start of a large program does, so that the kernel has its pages
	if err != nil || len(text) == 0 {
		t.Fatal(err)
	}
	before := ofFiles(t)

	if err := Release(); err != nil {
		t.Fatal(err)
	}
	if after := ofFiles(t); after >= before {
		t.Errorf("the process has %d kB of files in its memory, %d before", after, before)
	}
}

// TestKeep: garbage is collected again and again, until the process ends.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*every-time.Second)
		defer cancel()

		before := collections()
		Keep(ctx, slog.New(slog.DiscardHandler))
		if ctx.Err() == nil {
			t.Error("it ended before the process did")
		}
		if n := collections() - before; n < 9 {
			t.Errorf("%d collections in ten times of %s, want 9", n, every)
		}
	})
}

// TestAfterStart gives back once, when the start is over, and not at all in a process that ends before.
func TestAfterStart(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(sleeping))

	for _, tt := range []struct {
		lives time.Duration
		want  bool
	}{{settled - time.Second, false}, {settled + time.Hour, true}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.lives)
			defer cancel()
			AfterStart(ctx, slog.New(slog.DiscardHandler))
			if got := ctx.Err() == nil; got != tt.want {
				t.Errorf("in a process that lives %s it is done before the end: %t, want %t", tt.lives, got, tt.want)
			}
		})
	}
}

// collections returns how often garbage has been collected.
func collections() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}

// ofFiles returns how much of files this process has in its memory, in kB.
func ofFiles(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(status), "RssFile:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatal("/proc/self/status has no RssFile")
	}
	size, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}

	return size
}
