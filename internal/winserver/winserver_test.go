package winserver_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/services/servicestest"
	"mullion.dev/mullion/internal/winserver"
	"mullion.dev/mullion/internal/winserver/journal"
)

// windowsServer is a server of folders and services in memory.
type windowsServer struct {
	winserver.Host
	services servicestest.Manager
	networks map[string]netip.Prefix
	rules    map[string]int
	ways     map[string]bool // routes, as "to via"
	ended    int
	access   map[string]winserver.Access // by path below Root
	stranger string                      // what is not an administrator's
	pem      []byte                      // what the kubelet gets for its certificate
	// The server is killed at the step of the number killAt, if that is not 0.
	steps, killAt int
	// sick is what health endpoints answer.
	sick func(program string) error
}

func newServer(t *testing.T) *windowsServer {
	t.Helper()
	s := &windowsServer{
		networks: map[string]netip.Prefix{}, rules: map[string]int{}, ways: map[string]bool{},
		access: map[string]winserver.Access{},
	}

	s.Host = winserver.Host{
		Root: t.TempDir(), Services: &s.services, Networks: s, Firewall: wall{s}, Routes: ways{s},
		Poll: time.Millisecond,
		Protect: func(path string, access winserver.Access) error {
			s.step()
			s.access[strings.TrimPrefix(path, s.Root)] = access
			_, err := os.Stat(path)
			return err
		},
		Trusted: func(path string) error {
			s.step()
			if strings.TrimPrefix(path, s.Root) == s.stranger {
				return winserver.ErrUntrusted
			}
			return nil
		},
		Version: func(_ context.Context, path string) (string, error) {
			text, err := os.ReadFile(path)
			return strings.TrimPrefix(string(text), "MZ "), err
		},
		EndPods: func(context.Context, string) (int, error) { s.ended++; return 1, nil },
		Address: func(string) (netip.Prefix, error) { return netip.MustParsePrefix("127.0.0.7/8"), nil },
		Healthy: func(context.Context, int) error {
			if s.sick == nil {
				return nil
			}
			text, err := os.ReadFile(filepath.Join(s.Root, "k", "kubelet.exe"))
			if err != nil {
				return err
			}
			return s.sick(string(text))
		},
	}

	return s
}

// step is one of what a join does to the server.
func (s *windowsServer) step() {
	if s.steps++; s.steps == s.killAt {
		runtime.Goexit()
	}
}

func (s *windowsServer) Ensure(name string, subnet netip.Prefix) (bool, error) {
	s.step()
	_, found := s.networks[name]
	s.networks[name] = subnet
	s.step()
	return found, nil
}

func (s *windowsServer) Has(name string) (bool, error) { _, ok := s.networks[name]; return ok, nil }

func (s *windowsServer) Delete(name string) error { delete(s.networks, name); return nil }

func (s *windowsServer) ClearServices() error { return nil }

type wall struct{ s *windowsServer }

func (w wall) Allow(_ context.Context, name string, port int) error {
	w.s.step()
	w.s.rules[name] = port
	w.s.step()
	return nil
}

func (w wall) Remove(_ context.Context, name string) error { delete(w.s.rules, name); return nil }

type ways struct{ s *windowsServer }

func (w ways) Ensure(_ context.Context, to netip.Prefix, via netip.Addr) error {
	w.s.step()
	w.s.ways[to.String()+" "+via.String()] = true
	w.s.step()
	return nil
}

func (w ways) Remove(_ context.Context, to netip.Prefix, via netip.Addr) error {
	delete(w.s.ways, to.String()+" "+via.String())
	return nil
}

// tree lists the files of the server with their texts.
func (s *windowsServer) tree(t *testing.T) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(s.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.Root, path)
		if err == nil && !d.IsDir() {
			var data []byte
			data, err = os.ReadFile(path)
			name += " = " + string(data)
		}

		all = append(all, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	slices.Sort(all)
	return strings.Join(all, "\n")
}

func (s *windowsServer) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.Root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func options(server, bundle string) winserver.Join {
	return winserver.Join{
		Discovery: discovery.Config{Server: server, Token: discovery.Token{ID: "abcdef", Secret: "0123456789abcdef"}},
		Node:      "win-a", Bundles: []string{bundle}, Network: "l2bridge", Wait: 30 * time.Second,
	}
}

// A server that answers nonsense, or nobody, changes nothing on the Windows Server.
func TestJoinNobody(t *testing.T) {
	nonsense := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>It works!</html>"))
	}))
	defer nonsense.Close()

	for name, c := range map[string]struct {
		server string
		is     error
	}{
		"nonsense": {strings.TrimPrefix(nonsense.URL, "https://"), discovery.ErrNotReady},
		"nobody":   {"127.0.0.1:1", discovery.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			err := s.Join(t.Context(), options(c.server, t.TempDir()), t.Logf)
			if !errors.Is(err, c.is) {
				t.Errorf("%v, want %v", err, c.is)
			}
			if left := s.tree(t); left != "." || len(s.services.Services) > 0 {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

func TestJoinFlags(t *testing.T) {
	s := newServer(t)
	o := options("127.0.0.1:1", "")
	o.Node = "Win_A"
	if err := s.Join(t.Context(), o, t.Logf); err == nil || !strings.Contains(err.Error(), "Win_A") {
		t.Errorf("a name that no node can have: %v", err)
	}
	o = options("127.0.0.1:1", "")
	o.Network = "overlay"
	if err := s.Join(t.Context(), o, t.Logf); !errors.Is(err, winserver.ErrNetworkMode) {
		t.Errorf("a network that the agent does not make: %v", err)
	}
}

const nodeJournal = `{"version": 1, "node": "win-a", "server": "https://192.0.2.1:6443",
	"endpoint": "npipe:////./pipe/x", "network": "cbr0", "joined": true, "entries": [
	{"kind": "folder", "name": "/k", "had": ["old.txt", "Kubelet.exe"]},
	{"kind": "file", "name": "/k/kubelet.exe", "kept": "/k/kubelet.exe.before-mullion"},
	{"kind": "folder", "name": "/var", "made": true},
	{"kind": "firewall", "name": "rule"}, {"kind": "service", "name": "kubelet"},
	{"kind": "network", "name": "cbr0"}]}`

// node makes the server a node, as far as journal, files and services go.
func (s *windowsServer) node(t *testing.T) {
	t.Helper()
	s.write(t, "ProgramData/mullion-agent/journal.json", nodeJournal)
	s.write(t, "k/old.txt", "old")
	s.write(t, "k/kubelet.exe", "MZ v1.37.1 one")
	s.write(t, "k/kubelet.exe.before-mullion", "MZ before")
	s.write(t, "var/lib/kubelet/pki/key.pem", "secret")
	s.networks["cbr0"], s.rules["rule"] = netip.MustParsePrefix("10.244.1.0/24"), 10250
	err := s.services.Create("kubelet", services.Change{Type: services.OwnProcess, Start: services.StartAuto})
	if err != nil {
		t.Fatal(err)
	}
}

// What the journal has is taken back, what was there before comes back, and a second leave finds no node.
func TestLeave(t *testing.T) {
	s := newServer(t)
	s.node(t)
	if err := s.Leave(t.Context(), false, t.Logf); err != nil {
		t.Fatal(err)
	}
	want := ".\nProgramData\nk\nk/kubelet.exe = MZ before\nk/old.txt = old"
	if left := s.tree(t); left != want {
		t.Errorf("left:\n%s\nwant:\n%s", left, want)
	}

	if len(s.networks)+len(s.rules) > 0 || s.services.Find("kubelet") != nil || s.ended != 1 {
		t.Errorf("networks %v, rules %v, pods ended %d times", s.networks, s.rules, s.ended)
	}
	if err := s.Leave(t.Context(), false, t.Logf); !errors.Is(err, journal.ErrNone) {
		t.Errorf("leave again: %v", err)
	}
}

// A journal of another version is refused, and nothing is touched.
func TestForeignJournal(t *testing.T) {
	s := newServer(t)
	s.write(t, "ProgramData/mullion-agent/journal.json", `{"version": 2}`)
	before := s.tree(t)
	if err := s.Leave(t.Context(), false, t.Logf); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("leave: %v", err)
	}
	if s.tree(t) != before {
		t.Error("something was changed")
	}
}

// A program that does not work is replaced by the former one; one that works stays; an upgrade that was interrupted is
// taken back first.
func TestUpgrade(t *testing.T) {
	c := newCluster(t)
	s := newServer(t)
	c.server = s
	s.node(t)
	s.write(t, "ProgramData/mullion-agent/journal.json",
		strings.Replace(nodeJournal, "https://192.0.2.1:6443", c.URL, 1))
	s.write(t, "etc/kubernetes/pki/ca.crt", string(c.ca()))
	s.write(t, "var/lib/kubelet/pki/kubelet-client-current.pem", string(keyPair(t)))
	bundle := t.TempDir()
	give := func(text string) {
		if err := os.WriteFile(filepath.Join(bundle, "kubelet.exe"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	is := func(want string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(s.Root, "k", "kubelet.exe"))
		if err != nil || string(text) != want {
			t.Errorf("kubelet.exe is %q, %v; want %q", text, err, want)
		}
	}

	s.sick = func(program string) error {
		if program == "MZ v1.37.1 bad" {
			return errors.New("it is sick")
		}
		return nil
	}

	// The file was there before the join, and no other has been in its place yet.
	if err := os.Remove(filepath.Join(s.Root, "k", "kubelet.exe.before-mullion")); err != nil {
		t.Fatal(err)
	}
	give("MZ v1.37.1 bad")
	err := s.Upgrade(t.Context(), []string{bundle}, 50*time.Millisecond, t.Logf)
	if !errors.Is(err, winserver.ErrNotReady) || !strings.Contains(err.Error(), "former ones again") {
		t.Errorf("a bad program: %v", err)
	}

	is("MZ v1.37.1 one")
	give("MZ v1.37.1 two")
	if err := s.Upgrade(t.Context(), []string{bundle}, time.Second, t.Logf); err != nil {
		t.Errorf("a good program: %v", err)
	}
	is("MZ v1.37.1 two")

	// A kill between the swap and the answer.
	s.write(t, "k/kubelet.exe.former", "MZ v1.37.1 two")
	s.write(t, "k/kubelet.exe", "MZ v1.37.1 three")
	give("MZ v1.37.1 two")
	if err := s.Upgrade(t.Context(), []string{bundle}, time.Second, t.Logf); err != nil {
		t.Errorf("after a kill: %v", err)
	}

	is("MZ v1.37.1 two")
	if _, err := os.Stat(filepath.Join(s.Root, "k", "kubelet.exe.former")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the former program is there: %v", err)
	}
}
