package powershell

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// following is a powershell that follows a file.
type following struct {
	t     *testing.T
	lines chan string
	stop  context.CancelFunc
	code  chan int
	errs  *strings.Builder
}

// follow starts a script, whose lines can be waited for.
func follow(t *testing.T, script string) *following {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	f := &following{t, make(chan string, 100), stop, make(chan int, 1), &strings.Builder{}}
	go func() {
		s := Session{
			Args: []string{"-Command", script}, Environ: os.Environ(), Stdin: strings.NewReader(""), Stdout: w,
			Stderr: f.errs, Newline: "\n",
		}
		f.code <- s.Run(ctx)
		w.Close()
	}()

	go func() {
		in := bufio.NewScanner(r)
		for in.Scan() {
			f.lines <- in.Text()
		}
		close(f.lines)
	}()

	t.Cleanup(func() {
		stop()
		r.Close()
	})
	return f
}

// expect waits for lines.
func (f *following) expect(want ...string) {
	f.t.Helper()
	for _, w := range want {
		select {
		case got, open := <-f.lines:
			if got != w || !open {
				f.t.Fatalf("the line %q (open: %v), want %q", got, open, w)
			}
		case <-time.After(20 * time.Second):
			f.t.Fatalf("no line came, want %q", w)
		}
	}
}

// ended waits for the end.
func (f *following) ended() (code int) {
	f.t.Helper()
	select {
	case code := <-f.code:
		return code
	case <-time.After(20 * time.Second):
		f.t.Fatal("it does not end")
		return 0
	}
}

func put(t *testing.T, path string, how int, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A file is followed as entry points of images do it: what is there, what is appended, what comes after it was emptied
// or replaced, and an unfinished line once nothing more comes.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	put(t, path, os.O_TRUNC, "\xEF\xBB\xBFone\r\ntwo\n")
	f := follow(t, "Get-Content -Path '"+path+"' -Wait")
	f.expect("one", "two")

	put(t, path, os.O_APPEND, "three\nfo")
	f.expect("three", "fo")
	put(t, path, os.O_APPEND, "ur\nfive\n")
	f.expect("ur", "five")

	put(t, path, os.O_TRUNC, "emptied\n")
	f.expect("emptied")

	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	put(t, path, os.O_TRUNC, "a new file that is longer than the one before it was\n")
	f.expect("a new file that is longer than the one before it was")

	f.stop() // Ctrl+C
	if f.ended(); strings.Contains(f.errs.String(), "Get-Content") {
		t.Errorf("Ctrl+C is an error of the cmdlet: %s", f.errs)
	}
}

// The last lines come first, a pipeline gets each line as it comes, and it ends the waiting when it has enough.
func TestFollowTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	put(t, path, os.O_TRUNC, strings.Repeat("old\n", 5000)+"a\nb\n")
	f := follow(t, "gc '"+path+"' -Tail 2 -Wait | ForEach-Object { \"<$_>\" } | Select-Object -First 4; 'done'")
	time.Sleep(50 * time.Millisecond)
	put(t, path, os.O_APPEND, "c\nd\ne\n")
	f.expect("<a>", "<b>", "<c>", "<d>", "done")
	if code := f.ended(); code != 0 {
		t.Errorf("code %d, %s", code, f.errs)
	}
}

// With -TotalCount it waits for so many lines.
func TestFollowCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	put(t, path, os.O_TRUNC, "\xFF\xFEa\x00\n\x00b\x00\n\x00")
	f := follow(t, "Get-Content '"+path+"' -TotalCount 3 -Wait; 'done'")
	f.expect("a", "b")
	put(t, path, os.O_APPEND, "\x0a\x63\n\x00d\x00\n\x00")
	f.expect("挊", "done")
	f.ended()
}

// When the file is deleted, that is an error, and the script goes on.
func TestFollowDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	put(t, path, os.O_TRUNC, "a\n")
	f := follow(t, "Get-Content '"+path+"' -Wait; 'goes on'")
	f.expect("a")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f.expect("goes on")
	f.ended()
	if !strings.Contains(f.errs.String(), "Cannot find path '"+path+"'") {
		t.Errorf("the error is %q", f.errs)
	}
}

func TestFollowWrongly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	put(t, path, os.O_TRUNC, "a\n")
	for script, want := range map[string]string{
		"Get-Content '" + path + "' -Wait -Raw":           "The parameters Raw and Wait cannot be specified",
		"Get-Content '" + path + "x' -Wait":               "Cannot find path",
		"Get-Content '" + path + "' -Wait -TotalCount -1": "-totalcount of less than 0",
		"Get-Content '" + path + "' -ReadCount -1":        "less than the minimum allowed range of 0",
	} {
		f := follow(t, script)
		if code := f.ended(); code != 1 || !strings.Contains(f.errs.String(), want) {
			t.Errorf("%s: code %d, %q", script, code, f.errs)
		}
	}
}
