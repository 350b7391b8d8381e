package containerinit

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/windows/jobobject"
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

// asProgram makes the test program be a program of a container, which allocates what it is told to.
const asProgram = "CONTAINERINIT_PROGRAM"

// allocate maps so many MiB as each line says, and answers "ok" or why not. A number below 0 is only tried.
func allocate(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		n, _ := strconv.Atoi(lines.Text())
		memory, err := syscall.Mmap(-1, 0, max(n, -n)*mib, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err == nil && n < 0 {
			err = syscall.Munmap(memory)
		}
		if err != nil {
			fmt.Fprintln(out, err)
			continue
		}
		fmt.Fprintln(out, "ok")
	}
}

// program is one whose process the folder proc shows.
type program struct {
	in  io.Writer
	out *bufio.Scanner
}

func startProgram(t *testing.T, proc string) program {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asProgram+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := os.Symlink("/proc/"+pid, filepath.Join(proc, pid)); err != nil {
		t.Fatal(err)
	}
	return program{in, bufio.NewScanner(out)}
}

// take has the program allocate so many MiB and returns its answer.
func (p program) take(t *testing.T, n int) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, n); err != nil || !p.out.Scan() {
		t.Fatalf("the program does not answer: %v, %v", err, p.out.Err())
	}
	return p.out.Text()
}

// until has the program try to allocate until the answer is as wanted.
func (p program) until(t *testing.T, n int, want string) {
	t.Helper()
	got := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if got = p.take(t, -n); got == want {
			return
		}
		select {
		case <-t.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("%d MiB: %q, want %q", n, got, want)
}

// TestShareCommit: what one process has taken another cannot get, until the limit is changed.
func TestShareCommit(t *testing.T) {
	dir, proc := t.TempDir(), t.TempDir()
	job := filepath.Join(dir, "job")
	limit := func(n uint64) {
		if err := atomicfile.Write(job, jobobject.File(jobobject.Limits{Memory: n}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	limit(1000 * mib)
	first, second := startProgram(t, proc), startProgram(t, proc)
	stop := make(chan struct{})
	defer close(stop)
	go shareCommit(job, proc, stop)
	const refused = "cannot allocate memory"
	first.until(t, 2000, refused)
	first.until(t, 600, "ok") // a look may have seen what was only tried; Go itself has some 100 MiB in each
	if got := first.take(t, 600); got != "ok" {
		t.Fatalf("what there is: %s", got)
	}
	second.until(t, 500, refused)
	second.until(t, 10, "ok")
	limit(2000 * mib)
	second.until(t, 500, "ok")
	first.until(t, 2000, refused)
	limit(0)
	first.until(t, 2000, "ok")
}
