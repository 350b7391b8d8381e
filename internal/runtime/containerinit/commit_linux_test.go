package containerinit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

const mib = 1 << 20

// TestDivide: each process gets what it has and what is left of the container's limit, and Wine's server all it wants.
func TestDivide(t *testing.T) {
	for name, tt := range map[string]struct {
		limit int64
		all   []process
		want  map[int]uint64
		near  bool
	}{
		"nothing used": {100 * mib, []process{{pid: 2, data: 10 * mib}}, map[int]uint64{2: 118 * mib}, false},
		"shared": {
			100 * mib,
			[]process{
				{pid: 2, data: 50 * mib, committed: 30 * mib},
				{pid: 3, data: 60 * mib, committed: 40 * mib},
				{pid: 4, data: 7 * mib, committed: 0, wineServer: true},
			},
			map[int]uint64{2: 88 * mib, 3: 98 * mib}, true,
		},
		"more used than there is": {
			20 * mib,
			[]process{{pid: 2, data: 50 * mib, committed: 30 * mib}, {pid: 3, data: 1 * mib}},
			map[int]uint64{2: 48 * mib, 3: 0}, true,
		},
		"no limit any more": {0, []process{{pid: 2, data: 50 * mib, committed: 30 * mib}}, map[int]uint64{2: ^uint64(0)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[int]uint64{}
			near := divide(tt.limit, tt.all, func(pid int, bytes uint64) { got[pid] = bytes })
			if diff := cmp.Diff(tt.want, got); diff != "" || near != tt.near {
				t.Errorf("near %t (-want +got):\n%s", near, diff)
			}
		})
	}
}

func TestParseProcess(t *testing.T) {
	stat := func(name string, threads int) string {
		return fmt.Sprintf("7 (%s) S 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 %d 0 100 0 0", name, threads)
	}
	page := int64(os.Getpagesize())
	for name, tt := range map[string]struct {
		stat, statm string
		want        process
		ok          bool
	}{
		"idle": {stat("winprog.exe", 4), "9 8 7 6 0 1000 0", process{pid: 7, data: 1000 * page}, true},
		"big": {
			stat("a", 2), "9 8 7 6 0 100000 0",
			process{pid: 7, data: 100000 * page, committed: 100000*page - 18*mib}, true,
		},
		"wine server": {stat("wineserver64", 1), "9 8 7 6 0 1 0", process{pid: 7, data: page, wineServer: true}, true},
		"forged name": {stat(") S 1 (wineserver64) x", 9), "9 8 7 6 0 1 0", process{pid: 7, data: page}, true},
		"no name":     {"7 S 1", "9 8 7 6 0 1 0", process{}, false},
		"cut off":     {"7 (a) S 1", "9 8 7 6 0 1 0", process{}, false},
		"no sizes":    {stat("a", 1), "", process{}, false},
		"no number":   {stat("a", 1), "9 8 7 6 0 x 0", process{}, false},
	} {
		got, ok := parseProcess(7, []byte(tt.stat), []byte(tt.statm))
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: %+v, %t, want %+v", name, got, ok, tt.want)
		}
	}
}

func TestCommitLimit(t *testing.T) {
	record := func(class uint32, size int, limit uint64) []byte {
		b := binary.LittleEndian.AppendUint32(nil, class)
		b = binary.LittleEndian.AppendUint32(b, uint32(size))
		data := make([]byte, size)
		if size >= 128 {
			binary.LittleEndian.PutUint64(data[120:], limit)
		}
		return append(b, data...)
	}
	for name, tt := range map[string]struct {
		data []byte
		want int64
	}{
		"alone":          {record(9, 144, 5*mib), 5 * mib},
		"behind others":  {append(record(2, 64, 0), record(9, 144, 7)...), 7},
		"no limit":       {record(9, 144, 0), 0},
		"none":           {record(2, 64, 0), 0},
		"empty":          {nil, 0},
		"too short":      {record(9, 60, 0), 0},
		"cut off":        {record(9, 144, 5)[:140], 0},
		"a wild size":    {bytes.Repeat([]byte{0xff}, 200), 0},
		"a wild number":  {record(9, 144, 1<<63), 0},
		"an endless one": {bytes.Repeat(record(2, 0, 0), 4096), 0},
	} {
		file := filepath.Join(t.TempDir(), "job")
		if err := os.WriteFile(file, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := commitLimit(file); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{pipe, filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if got := commitLimit(file); got != 0 {
			t.Errorf("%s: %d", file, got)
		}
	}
}

// TestLimitData sets the limit of a real process and finds it among the others.
func TestLimitData(t *testing.T) {
	cmd := command(t, "--", "/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pid := cmd.Process.Pid
	limitData(pid, 123*mib)
	var got syscall.Rlimit
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_DATA, 0,
		uintptr(unsafe.Pointer(&got)), 0, 0); errno != 0 || got.Cur != 123*mib {
		t.Errorf("the limit is %+v (%v)", got, errno)
	}
	found := false
	for _, p := range processes(procfs) {
		found = found || p.pid == pid && p.data > 0
	}
	if !found {
		t.Error("the process is not found")
	}
	if strings.Contains(fmt.Sprint(processes("/nowhere")), "pid") {
		t.Error("processes of nowhere")
	}
}
