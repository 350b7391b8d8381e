//go:build kernel

package smb_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/hostservices/service"
	"mullion.dev/mullion/internal/hostservices/service/servicetest"
	"mullion.dev/mullion/internal/hostservices/smb"
	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == keeper.Share {
		if err := smb.Keep(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}

	if len(os.Args) > 1 && os.Args[1] == keeper.Shares {
		if err := smb.KeepTree(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}

	if len(os.Args) == 5 && os.Args[1] == serveCommand {
		serve(os.Args[2], os.Args[3], os.Args[4])
		return
	}
	os.Exit(m.Run())
}

// serveCommand and the socket, the folder and the prefix are the arguments by which this program serves mappings, as a
// host's agent does, in the host's network namespace.
const serveCommand = "serve-smb"

func serve(socket, folder, prefix string) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server := &smb.Server{
		Folder:  folder,
		Prefix:  prefix,
		Program: os.Args[0],
		Log:     log,
	}

	wait, err := server.Service().Start(context.Background(), service.Sockets{Host: socket})
	if err == nil {
		wait()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

const loopback = "127.0.0.1"

// host is where mappings are made in a test.
type host struct {
	netns, folder, prefix, socket string
}

func newHost(tb testing.TB) host {
	tb.Helper()
	dir := tb.TempDir()
	h := host{
		netns:  filepath.Join(dir, "netns"),
		folder: filepath.Join(dir, "unc"),
		prefix: filepath.Join(dir, "prefix"),
		socket: filepath.Join(dir, "smb.sock"),
	}

	for _, folder := range []string{filepath.Join(h.prefix, "dosdevices"), h.folder} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			tb.Fatal(err)
		}
	}

	if err := os.Symlink(h.folder, filepath.Join(h.prefix, "dosdevices", "unc")); err != nil {
		tb.Fatal(err)
	}
	if _, err := netns.Ensure(h.netns); err != nil {
		tb.Fatal(err)
	}

	tb.Cleanup(func() {
		if err := netns.Remove(h.netns); err != nil {
			tb.Error(err)
		}
	})

	agent := exec.CommandContext(context.WithoutCancel(tb.Context()), "nsenter", "--net="+h.netns, os.Args[0],
		serveCommand, h.socket, h.folder, h.prefix)
	agent.Stdout, agent.Stderr = tb.Output(), tb.Output()
	if err := agent.Start(); err != nil {
		tb.Fatal(err)
	}

	tb.Cleanup(func() {
		for _, m := range h.get(tb) {
			h.ask(tb, smbmapping.Request{Do: smbmapping.Remove, Remote: m.Remote})
		}
		_ = agent.Process.Kill()
		_ = agent.Wait()
	})

	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := unixsocket.Dialer(h.socket)(tb.Context(), "", "")
		if err == nil {
			_ = conn.Close()
			return h
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (h host) ask(tb testing.TB, request smbmapping.Request) ([]smbmapping.Mapping, hostcall.Refusal) {
	tb.Helper()
	a, no := servicetest.Ask(tb, h.socket, smbmapping.Call(), request)
	return a.Mappings, no
}

func (h host) get(tb testing.TB) []smbmapping.Mapping {
	tb.Helper()
	all, _ := h.ask(tb, smbmapping.Request{Do: smbmapping.Get})
	return all
}

const remote = `\\` + loopback + `\` + smbtest.Share

func mapOf(remote string) smbmapping.Request {
	return smbmapping.Request{
		Do:       smbmapping.New,
		Remote:   remote,
		User:     smbtest.User,
		Password: smbtest.Password,
	}
}

func private(request smbmapping.Request) smbmapping.Request {
	request.Privacy = true
	return request
}

func mapAs(user string) smbmapping.Request {
	return smbmapping.Request{
		Do:       smbmapping.New,
		Remote:   remote,
		User:     user,
		Password: smbtest.Password,
	}
}

func (h host) mapped(tb testing.TB, request smbmapping.Request) string {
	tb.Helper()
	if made, no := h.ask(tb, request); no.Words != "" || len(made) != 1 {
		tb.Fatalf("%s: %+v, %+v", request.Remote, made, no)
	}
	return filepath.Join(h.folder, loopback, smbtest.Share)
}

// TestMapping makes, lists and removes mappings, and what cannot be made has Windows' words.
func TestMapping(t *testing.T) {
	h := newHost(t)
	s := smbtest.Start(t, h.netns, loopback, smbtest.Options{})
	for _, tc := range []struct {
		request smbmapping.Request
		code    uint32
	}{
		{smbmapping.Request{
			Do:       smbmapping.New,
			Remote:   remote,
			User:     smbtest.User,
			Password: "wrong",
		}, 1326},
		{smbmapping.Request{
			Do:       smbmapping.New,
			Remote:   remote,
			User:     "nobody-here",
			Password: "x",
		}, 1326},
		{mapOf(`\\` + loopback + `\none`), 67},
		{smbmapping.Request{Do: smbmapping.New, Remote: `\\127.0.0.9\data`}, 53},
		{smbmapping.Request{
			Do:     smbmapping.New,
			Remote: remote,
			Local:  "C:",
		}, 87},
		{smbmapping.Request{Do: smbmapping.New, Remote: `\\..\data`}, 87},
	} {
		_, no := h.ask(t, tc.request)
		if no.Code != tc.code || no.Words == "" || strings.Contains(no.Words, smbtest.Password) {
			t.Errorf("%s as %q: %+v, want error %d", tc.request.Remote, tc.request.User, no, tc.code)
		}
	}

	if all := h.get(t); len(all) > 0 {
		t.Fatalf("mappings that were not made: %+v", all)
	}

	request := mapAs(`MYSERVER\` + smbtest.User)
	request.Local, request.Integrity = "g:", true
	folder := h.mapped(t, request)
	checkKeeper(t, h)
	want := smbmapping.Mapping{
		Remote:    remote,
		Local:     "G:",
		Connected: true,
	}

	if all := h.get(t); len(all) != 1 || all[0] != want {
		t.Errorf("mappings %+v, want %+v", all, want)
	}

	if _, no := h.ask(t, mapAs(smbtest.User)); no.Code != 1219 {
		t.Errorf("mapped twice: %+v", no)
	}
	if err := os.WriteFile(filepath.Join(h.prefix, "dosdevices", "g:", "by-letter"), []byte("x"), 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "by-letter")); err != nil {
		t.Error(err)
	}

	h.ask(t, smbmapping.Request{Do: smbmapping.Remove, Remote: remote})
	if all := h.get(t); len(all) > 0 {
		t.Errorf("mappings after all are removed: %+v", all)
	}
	if _, err := os.Lstat(filepath.Join(h.prefix, "dosdevices", "g:")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the drive is still there: %v", err)
	}

	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder of the removed mapping: %v, %v", entries, err)
	}
}

// TestFiles does to a share what programs do to folders.
func TestFiles(t *testing.T) {
	h := newHost(t)
	s := smbtest.Start(t, h.netns, loopback, smbtest.Options{})
	dir := h.mapped(t, mapAs(smbtest.User))
	check := func(what string, err error, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}

	in := func(name string) string { return filepath.Join(dir, name) }
	check("make a folder", os.Mkdir(in("a"), 0o755), nil)
	check("make it again", os.Mkdir(in("a"), 0o755), fs.ErrExist)
	check("write", os.WriteFile(in("a/one.txt"), []byte("one"), 0o644), nil)
	check("write over it", os.WriteFile(in("a/one.txt"), []byte("1"), 0o644), nil)
	if data, err := os.ReadFile(in("a/one.txt")); string(data) != "1" || err != nil {
		t.Errorf("read %q, %v", data, err)
	}

	f, err := os.OpenFile(in("a/one.txt"), os.O_WRONLY|os.O_APPEND, 0)
	check("open to append", err, nil)
	_, err = f.WriteString("23")
	check("append", errors.Join(err, f.Sync(), f.Close()), nil)
	if data, err := os.ReadFile(filepath.Join(s.Dir, "a/one.txt")); string(data) != "123" || err != nil {
		t.Errorf("on the server: %q, %v", data, err)
	}

	check("truncate", os.Truncate(in("a/one.txt"), 2), nil)
	_, err = os.OpenFile(in("a/one.txt"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	check("make what is there", err, fs.ErrExist)
	check("write another", os.WriteFile(in("a/two.txt"), []byte("two"), 0o644), nil)
	check("move over a file", os.Rename(in("a/two.txt"), in("a/one.txt")), nil)
	err = unix.Renameat2(unix.AT_FDCWD, in("a/one.txt"), unix.AT_FDCWD, in("a"), unix.RENAME_NOREPLACE)
	check("move without replacing", err, fs.ErrExist)
	check("remove a full folder", os.Remove(in("a")), syscall.ENOTEMPTY)

	_, err = os.ReadFile(in("none"))
	check("read what is not there", err, fs.ErrNotExist)
	check("a name that is none", os.WriteFile(in(`a\..\b`), nil, 0o600), syscall.EINVAL)
	check("make read-only", os.Chmod(in("a/one.txt"), 0o444), nil)
	if info, err := os.Stat(in("a/one.txt")); err != nil || info.Mode().Perm()&0o200 != 0 {
		t.Errorf("read-only: %v, %v", info, err)
	}

	check("make writable", os.Chmod(in("a/one.txt"), 0o644), nil)
	at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	check("set the time", os.Chtimes(in("a/one.txt"), at, at), nil)
	if info, err := os.Stat(in("a/one.txt")); err != nil || !info.ModTime().Equal(at) || info.Size() != 3 {
		t.Errorf("time and size: %v, %v", info, err)
	}

	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Blocks == 0 || st.Bavail > st.Blocks {
		t.Errorf("room: %+v, %v", st, err)
	}
	for i := range 300 {
		check("write many", os.WriteFile(in(fmt.Sprintf("a/many-%d", i)), nil, 0o600), nil)
	}

	if entries, err := os.ReadDir(in("a")); err != nil || len(entries) != 301 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	check("remove all", os.RemoveAll(in("a")), nil)
	// somebody else changes the share
	check("on the server", os.WriteFile(filepath.Join(s.Dir, "other"), []byte("other"), 0o600), nil)
	if data, err := os.ReadFile(in("other")); string(data) != "other" || err != nil {
		t.Errorf("another's file: %q, %v", data, err)
	}
}

// TestReader is about a user who may only read.
func TestReader(t *testing.T) {
	h := newHost(t)
	s := smbtest.Start(t, h.netns, loopback, smbtest.Options{Encrypt: "required"})
	if err := os.WriteFile(filepath.Join(s.Dir, "text"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}

	dir := h.mapped(t, private(mapAs(smbtest.Reader)))
	if data, err := os.ReadFile(filepath.Join(dir, "text")); string(data) != "text" || err != nil {
		t.Errorf("read %q, %v", data, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("write: %v, want %v", err, fs.ErrPermission)
	}
}

// TestPrivacy maps with privacy: the client encrypts where the server leaves it to it, as Windows does, and refuses a
// server that does not encrypt.
func TestPrivacy(t *testing.T) {
	for _, tc := range []struct {
		server  string
		private bool
		code    uint32
		cipher  bool
	}{
		{server: "off", private: true, code: 5},
		{server: "if_required", private: true, cipher: true},
		{server: "if_required"},
	} {
		t.Run(fmt.Sprintf("%s-%t", tc.server, tc.private), func(t *testing.T) {
			h := newHost(t)
			s := smbtest.Start(t, h.netns, loopback, smbtest.Options{Encrypt: tc.server})
			request := mapAs(smbtest.User)
			request.Privacy = tc.private
			if _, no := h.ask(t, request); no.Code != tc.code {
				t.Fatalf("%+v, want code %d", no, tc.code)
			}

			if tc.code != 0 {
				return
			}

			file := filepath.Join(h.folder, loopback, smbtest.Share, "text")
			for _, again := range []bool{false, true} {
				if again {
					s.Stop()
					s.Run(t) // the connection is made anew
				}
				if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
					t.Fatal(err)
				}

				if data, err := os.ReadFile(filepath.Join(s.Dir, "text")); string(data) != "text" || err != nil {
					t.Errorf("on the server: %q, %v", data, err)
				}

				clients := s.Clients(t)
				if got := regexp.MustCompile(`(?m)^data .* AES-128-GCM +\S+ *$`).MatchString(clients); got != tc.cipher {
					t.Errorf("encrypted: %t, want %t:\n%s", got, tc.cipher, clients)
				}
			}
		})
	}
}

// TestServerGone ends the server under open files: requests fail in time, and all goes on when it is back.
func TestServerGone(t *testing.T) {
	h := newHost(t)
	s := smbtest.Start(t, h.netns, loopback, smbtest.Options{})
	dir := h.mapped(t, mapAs(smbtest.User))
	f, err := os.Create(filepath.Join(dir, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if _, err := f.WriteString("before "); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	begin := time.Now()
	if _, err := f.WriteString("lost"); err == nil {
		t.Error("written without a server")
	}

	if _, err := os.ReadFile(filepath.Join(dir, "none")); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read without a server: %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("two errors took %s", took)
	}
	if all := h.get(t); len(all) != 1 || all[0].Connected {
		t.Errorf("without a server: %+v", all)
	}

	s.Run(t)
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, err = f.WriteAt([]byte("after"), 7)
		if err == nil || time.Now().After(deadline) {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}

	if err != nil {
		t.Fatalf("written when the server is back: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(s.Dir, "kept")); string(data) != "before after" || err != nil {
		t.Errorf("on the server: %q, %v", data, err)
	}
	if all := h.get(t); len(all) != 1 || !all[0].Connected {
		t.Errorf("with the server again: %+v", all)
	}
}

// TestBytes writes and reads more than one request holds, by several at once.
func TestBytes(t *testing.T) {
	h := newHost(t)
	smbtest.Start(t, h.netns, loopback, smbtest.Options{})
	dir := h.mapped(t, mapAs(smbtest.User))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			data := make([]byte, 9<<20+i*7)
			_, _ = io.ReadFull(rand.Reader, data)
			file := filepath.Join(dir, fmt.Sprintf("bytes-%d", i))
			err := os.WriteFile(file, data, 0o600)
			got, readErr := os.ReadFile(file)
			if err = errors.Join(err, readErr); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes written, %d read: %v", len(data), len(got), err)
			}
		})
	}

	all.Wait()
}

// TestHostile has a host's program put a link in the place of its drives: nothing is made elsewhere on the machine.
func TestHostile(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	h := newHost(t)
	smbtest.Start(t, h.netns, loopback, smbtest.Options{})
	outside := t.TempDir()
	devices := filepath.Join(h.prefix, "dosdevices")
	if err := os.Rename(devices, devices+".old"); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(outside, devices); err != nil {
		t.Fatal(err)
	}

	request := mapAs(smbtest.User)
	request.Local = "H:"
	if made, no := h.ask(t, request); no.Words == "" {
		t.Errorf("mapped with a drive elsewhere: %+v", made)
	}

	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("made outside: %v, %v", entries, err)
	}
	if err := errors.Join(os.Remove(devices), os.Rename(devices+".old", devices)); err != nil {
		t.Fatal(err)
	}
	if all := h.get(t); len(all) > 0 {
		t.Errorf("mappings: %+v", all)
	}
}

// BenchmarkShare copies a gigabyte to a share and back, by its mount and by Samba's own client.
func BenchmarkShare(b *testing.B) {
	if _, err := exec.LookPath("smbclient"); err != nil {
		b.Skip("smbclient is not installed")
	}

	const size = 1 << 30
	h := newHost(b)
	s := smbtest.Start(b, h.netns, loopback, smbtest.Options{})
	dir := h.mapped(b, mapAs(smbtest.User))
	local := filepath.Join(b.TempDir(), "file")
	f, err := os.Create(local)
	if err != nil {
		b.Fatal(err)
	}

	want := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(f, want), rand.Reader, size); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}

	client := func(command string) {
		cmd := exec.CommandContext(b.Context(), "nsenter", "--net="+h.netns, "smbclient", "-s", "/dev/null",
			"-U", smbtest.User+"%"+smbtest.Password, "//"+loopback+"/"+smbtest.Share, "-c", command)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("smbclient: %v\n%s", err, out)
		}
	}

	copied := func(from, to string) {
		if out, err := exec.CommandContext(b.Context(), "cp", from, to).CombinedOutput(); err != nil {
			b.Fatalf("cp: %v\n%s", err, out)
		}
	}

	for _, way := range []struct {
		name string
		do   func()
	}{
		{"mount/write", func() { copied(local, filepath.Join(dir, "mount")) }},
		{"smbclient/write", func() { client("put " + local + " client") }},
		{"mount/read", func() { copied(filepath.Join(dir, "mount"), local+".mount") }},
		{"smbclient/read", func() { client("get client " + local + ".client") }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				way.do()
			}
		})
	}

	for _, file := range []string{
		filepath.Join(s.Dir, "mount"), filepath.Join(s.Dir, "client"), local + ".mount", local + ".client",
	} {
		got := sha256.New()
		f, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(got, f); err != nil || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
			b.Errorf("%s is not the gigabyte that was copied: %v", file, err)
		}
		_ = f.Close()
	}
}
