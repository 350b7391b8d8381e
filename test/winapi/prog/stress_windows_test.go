package prog

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestManyThreads does everything at once, so that handles are closed and used again all the time.
func TestManyThreads(t *testing.T) {
	dir := t.TempDir()
	l, path := listenUnix(t)
	go echo(l)
	var wg sync.WaitGroup
	for worker := range 12 {
		wg.Go(func() {
			own := filepath.Join(dir, fmt.Sprint(worker))
			for round := range 20 {
				if err := churn(own, path, round); err != nil {
					t.Errorf("worker %d, round %d: %v", worker, round, err)
					return
				}
			}
		})
	}

	wg.Wait()
}

// churn makes a small tree with links, uses it, dials the socket, and removes the tree.
func churn(dir, socket string, round int) error {
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o777); err != nil {
		return err
	}
	want := fmt.Sprint(round)
	if err := os.WriteFile(filepath.Join(dir, "data", "key"), []byte(want), 0o666); err != nil {
		return err
	}

	if err := os.Symlink("data", filepath.Join(dir, "tmp")); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "current")); err != nil {
		return err
	}

	got, err := os.ReadFile(filepath.Join(dir, "current", "key"))
	if err != nil || string(got) != want {
		return fmt.Errorf("read through the link: got %q, want %q: %w", got, want, err)
	}
	if target, err := os.Readlink(filepath.Join(dir, "current")); err != nil || target != "data" {
		return fmt.Errorf("target: got %q: %w", target, err)
	}

	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		return fmt.Errorf("entries: got %v: %w", entries, err)
	}
	if err := roundTrip(socket, want); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}

	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		return fmt.Errorf("the folder is still there: %w", err)
	}
	return nil
}

func roundTrip(socket, message string) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte(message)); err != nil {
		return err
	}

	answer := make([]byte, len(message))
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if string(answer) != message {
		return fmt.Errorf("echo: got %q, want %q", answer, message)
	}
	return nil
}
