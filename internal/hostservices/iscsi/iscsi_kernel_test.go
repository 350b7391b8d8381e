//go:build kernel

package iscsi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/hostservices/iscsi"
	"mullion.dev/mullion/internal/hostservices/iscsi/iscsitest"
)

const initiator = "iqn.1991-05.com.microsoft:win-1"

func start(t *testing.T) *iscsitest.Server {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	return iscsitest.Start(t, "/proc/self/ns/net", "127.77.0.1")
}

func login(s *iscsitest.Server, target string, chap *iscsi.CHAP) iscsi.Login {
	return iscsi.Login{
		Portal:    s.Portal,
		Initiator: initiator,
		Target:    target,
		ISID:      [6]byte{0x80, 1, 2, 3, 4, 5},
		CHAP:      chap,
	}
}

// TestSession discovers, logs in, reads and writes with the target of Debian.
func TestSession(t *testing.T) {
	server := start(t)
	targets, err := iscsi.Discover(t.Context(), login(server, "", nil))
	if err != nil || len(targets) != 2 || targets[0].Name != iscsitest.Guarded || targets[1].Name != iscsitest.Open ||
		targets[1].Portals[0] != server.Portal {
		t.Fatalf("the targets are %+v, %v", targets, err)
	}

	s, err := iscsi.Dial(t.Context(), login(server, iscsitest.Open, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	units, err := s.Units(t.Context())
	if err != nil || len(units) != 2 {
		t.Fatalf("the disks are %+v, %v", units, err)
	}

	u := units[0]
	if u.Number != 1 || u.Size != iscsitest.DiskSize || u.Block != 512 || u.Vendor != "IET" || u.Serial == "" ||
		u.NAA == "" || u.ReadOnly || !u.Thin {
		t.Errorf("the first disk is %+v", u)
	}

	t.Logf("%+v", u)
	var both sync.WaitGroup
	for i := range int64(32) {
		both.Go(func() {
			data := make([]byte, iscsi.MostBytes>>(i%4*3))
			_, _ = rand.Read(data)
			back := make([]byte, len(data))
			at := i * iscsi.MostBytes
			err := errors.Join(s.WriteAt(t.Context(), u, data, at), s.ReadAt(t.Context(), u, back, at))
			if err != nil || !bytes.Equal(data, back) {
				t.Errorf("%d bytes at %d: %v", len(data), at, err)
			}

			file := make([]byte, len(data))
			f, err := os.Open(filepath.Join(server.Dir, "open-1"))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if _, err := f.ReadAt(file, at); err != nil || !bytes.Equal(data, file) {
				t.Errorf("the file has something else at %d: %v", at, err)
			}
		})
	}

	both.Wait()
	back := make([]byte, 4096)
	err = errors.Join(s.Flush(t.Context(), u), s.Discard(t.Context(), u, 0, 1<<20), s.ReadAt(t.Context(), u, back, 0))
	if err != nil || !bytes.Equal(back, make([]byte, 4096)) {
		t.Errorf("after a discard: %v", err)
	}
	if err := s.ReadAt(t.Context(), u, make([]byte, 100), 0); err == nil {
		t.Error("100 bytes are read of blocks of 512")
	}

	if err := s.ReadAt(t.Context(), u, make([]byte, 1024), u.Size-512); err == nil {
		t.Error("it reads beyond the end")
	}
	if err := s.Logout(t.Context()); err != nil {
		t.Error(err)
	}
	if said := server.Sessions(); strings.Contains(said, initiator) {
		t.Errorf("the session is still there:\n%s", said)
	}
}

// TestCHAP logs in with right and wrong secrets.
func TestCHAP(t *testing.T) {
	server := start(t)
	for name, c := range map[string]struct {
		chap *iscsi.CHAP
		ok   bool
	}{
		"none":       {nil, false},
		"right":      {&iscsi.CHAP{User: iscsitest.User, Secret: iscsitest.Secret}, true},
		"wrong":      {&iscsi.CHAP{User: iscsitest.User, Secret: "wrong-of-the-test"}, false},
		"wrong user": {&iscsi.CHAP{User: "bob", Secret: iscsitest.Secret}, false},
		"mutual": {&iscsi.CHAP{
			User:   iscsitest.User,
			Secret: iscsitest.Secret,
			Mutual: iscsitest.TargetSecret,
		}, true},
		"mutual wrong": {&iscsi.CHAP{
			User:   iscsitest.User,
			Secret: iscsitest.Secret,
			Mutual: "another-hush-of",
		}, false},
	} {
		s, err := iscsi.Dial(t.Context(), login(server, iscsitest.Guarded, c.chap))
		if s != nil {
			s.Close()
		}
		right := (err == nil) == c.ok && (err == nil || errors.Is(err, iscsi.ErrAuthentication))
		if !right || strings.Contains(errText(err), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := iscsi.Dial(t.Context(), login(server, "iqn.2026-11.dev.mullion:none", nil)); !errors.Is(err, iscsi.ErrNoTarget) {
		t.Errorf("a target that is not there: %v", err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestSilence has the target say nothing: what waits for it ends.
func TestSilence(t *testing.T) {
	server := start(t)
	s, err := iscsi.Dial(t.Context(), login(server, iscsitest.Open, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	units, err := s.Units(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begin := time.Now()
	err = s.ReadAt(ctx, units[0], make([]byte, 512), 0)
	if took := time.Since(begin); err == nil || took > 25*time.Second {
		t.Errorf("reading from a silent target: %v after %s", err, took)
	}

	t.Logf("%v after %s", err, time.Since(begin))
	server.Stop()
	begin = time.Now()
	if _, err := iscsi.Dial(ctx, login(server, iscsitest.Open, nil)); err == nil || time.Since(begin) > 5*time.Second {
		t.Errorf("a login without a target: %v after %s", err, time.Since(begin))
	}
}

// BenchmarkRead and BenchmarkWrite are sequential, of 8 commands at once.
func BenchmarkRead(b *testing.B)  { bench(b, (*iscsi.Session).ReadAt) }
func BenchmarkWrite(b *testing.B) { bench(b, (*iscsi.Session).WriteAt) }

func bench(b *testing.B, do func(*iscsi.Session, context.Context, iscsi.Unit, []byte, int64) error) {
	b.Helper()
	server := iscsitest.Start(b, "/proc/self/ns/net", "127.77.0.1")
	s, err := iscsi.Dial(b.Context(), login(server, iscsitest.Open, nil))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	units, err := s.Units(b.Context())
	if err != nil {
		b.Fatal(err)
	}

	b.SetBytes(8 * iscsi.MostBytes)
	for b.Loop() {
		var all sync.WaitGroup
		for i := range int64(8) {
			all.Go(func() {
				if err := do(s, b.Context(), units[0], make([]byte, iscsi.MostBytes), i*iscsi.MostBytes); err != nil {
					b.Error(err)
				}
			})
		}

		all.Wait()
	}
}
