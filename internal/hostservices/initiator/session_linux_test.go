package initiator

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestReadStatus has a broken process serve other things than files by the name of the status: none is followed, and
// nobody waits for one.
func TestReadStatus(t *testing.T) {
	dir := t.TempDir()
	regular := filepath.Join(dir, "regular")
	link := filepath.Join(dir, "link")
	fifo := filepath.Join(dir, "fifo")
	err := errors.Join(os.WriteFile(regular, []byte("{}"), 0o600), os.Symlink(regular, link), unix.Mkfifo(fifo, 0o600))
	if err != nil {
		t.Fatal(err)
	}

	if data, err := readStatus(regular); string(data) != "{}" || err != nil {
		t.Errorf("the status is %q, %v", data, err)
	}

	for _, file := range []string{link, fifo} {
		done := make(chan error, 1)
		go func() {
			_, err := readStatus(file)
			done <- err
		}()

		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s is read", file)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s is waited for", file)
		}
	}
}
