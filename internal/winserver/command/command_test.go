package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/winver"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/services/servicestest"
	"mullion.dev/mullion/internal/winserver"
	"mullion.dev/mullion/internal/winserver/command"
	"mullion.dev/mullion/internal/winserver/local"
	"mullion.dev/mullion/internal/winserver/preflight"
)

// server is a Windows Server of a folder, and of facts that a test may change.
type server struct {
	root     string
	services servicestest.Manager
	facts    preflight.Facts
	asked    local.Asked
	ended    int // pods
}

func newServer(t *testing.T) *server {
	t.Helper()
	build, err := winver.Lookup("ltsc2022")
	if err != nil {
		t.Fatal(err)
	}

	return &server{root: t.TempDir(), facts: preflight.Facts{
		Version: build.Version, Server: true, Admin: true, Containers: true, HNS: winver.HNSVersion{Major: 13},
		Free: 100 << 30, Name: "win-a",
	}}
}

func (s *server) host() (winserver.Host, error) {
	return winserver.Host{
		Root: s.root, Services: &s.services, Networks: networks{}, Firewall: firewall{}, Routes: routes{},
		Protect: func(string, winserver.Access) error { return nil },
		Trusted: func(string) error { return nil },
		Version: func(context.Context, string) (string, error) { return "", errors.New("there is no program") },
		EndPods: func(context.Context, string) (int, error) { s.ended++; return 2, nil },
		Address: func(string) (netip.Prefix, error) { return netip.MustParsePrefix("127.0.0.7/8"), nil },
		Healthy: func(context.Context, int) error { return nil },
		Poll:    time.Millisecond,
	}, nil
}

// run runs a command line and returns what it prints and its exit code.
func (s *server) run(t *testing.T, args ...string) (out, err string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = command.Run(t.Context(), command.Env{
		Out: &stdout, Err: &stderr, Args: args,
		Hostname: func() (string, error) { return "WIN-A", nil },
		Host:     s.host,
		Facts: func(_ context.Context, a local.Asked) (preflight.Facts, error) {
			s.asked = a
			return s.facts, nil
		},
	})

	return stdout.String(), stderr.String(), code
}

type networks struct{}

func (networks) Ensure(string, netip.Prefix) (bool, error) { return false, nil }
func (networks) Has(string) (bool, error)                  { return false, nil }
func (networks) Delete(string) error                       { return nil }
func (networks) ClearServices() error                      { return nil }

type firewall struct{}

func (firewall) Allow(context.Context, string, int) error { return nil }
func (firewall) Remove(context.Context, string) error     { return nil }

type routes struct{}

func (routes) Ensure(context.Context, netip.Prefix, netip.Addr) error { return nil }
func (routes) Remove(context.Context, netip.Prefix, netip.Addr) error { return nil }

const (
	token = "abcdef.0123456789abcdef"
	hash  = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// TestUsage gives each flag what it cannot be: exit code 2, the flag by its name, and the way to help.
func TestUsage(t *testing.T) {
	join := []string{"join", "192.0.2.1:6443", "--token", token, "--discovery-token-ca-cert-hash", hash, "--bundle", "b"}
	fields := filepath.Join(t.TempDir(), "kubelet.yaml")
	if err := os.WriteFile(fields, []byte("evictionHart: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("#\n"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"no such flag", []string{"join", "--nothing"}, "unknown flag: --nothing"},
		{"no server", []string{"join"}, "takes the API server's HOST:PORT"},
		{"no port", []string{"join", "192.0.2.1"}, "is not the HOST:PORT of an API server"},
		{"no token", []string{"join", "192.0.2.1:6443"}, "--token"},
		{"no hash", []string{"join", "192.0.2.1:6443", "--token", token}, "--discovery-token-ca-cert-hash is missing"},
		{"bad hash", append(join, "--discovery-token-ca-cert-hash", "md5:1"), `"md5:1"`},
		{"no bundle", join[:6], "--bundle is missing"},
		{"IPv6", append(join, "--node-address", "2001:db8::1"), "is not an IPv4 address"},
		{"no address", append(join, "--node-address", "win"), "is not an IPv4 address"},
		{"network", append(join, "--network", "overlay"), "neither l2bridge nor none"},
		{"runtime", append(join, "--runtime-endpoint", "unix:///run/x"), "is not npipe:////./pipe/NAME"},
		{"runtime without a name", append(join, "--runtime-endpoint", "npipe:////./pipe/"), "is not npipe:////./pipe/NAME"},
		{"runtime with a quote", append(join, "--runtime-endpoint", "npipe:////./pipe/a'b"), "is not npipe:////./pipe/NAME"},
		{"a field that the kubelet lacks", append(join, "--kubelet-config", fields), "evictionHart"},
		{"a large file", append(join, "--kubelet-config", large), "is larger than"},
		{"no file", append(join, "--kubelet-config", fields+"x"), "--kubelet-config"},
		{"preflight's server", []string{"preflight", "--server", "a"}, "is not the HOST:PORT"},
		{"preflight's output", []string{"preflight", "-o", "yaml"}, "neither text nor json"},
		{"preflight's arguments", []string{"preflight", "x"}, "takes no arguments"},
		{"status's output", []string{"status", "-o", "wide"}, "neither text nor json"},
		{"upgrade", []string{"upgrade"}, "--bundle is missing"},
		{"leave", []string{"leave", "now"}, "takes no arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err, code := newServer(t).run(t, c.args...)
			if code != 2 || out != "" || !strings.Contains(err, c.says) || !strings.Contains(err, "--help") {
				t.Errorf("exit code %d, prints %q, says %q; want 2 and %q", code, out, err, c.says)
			}
		})
	}
}

// TestPreflight changes one fact at a time: what fails ends with 3, what warns with 0, and the line has a remedy.
func TestPreflight(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*preflight.Facts)
		line    string
		outcome preflight.Outcome
	}{
		{"all is well", func(*preflight.Facts) {}, "", preflight.Pass},
		{"no administrator", func(f *preflight.Facts) { f.Admin = false }, "FAIL  administrator", preflight.Fail},
		{"no HNS", func(f *preflight.Facts) { f.HNSError = "no service" }, "FAIL  hns", preflight.Fail},
		{"a port", func(f *preflight.Facts) { f.Taken = []int{10250} }, "FAIL  ports", preflight.Fail},
		{"a port of its own", func(f *preflight.Facts) { f.Taken, f.Node = []int{10250}, "win-a" }, "WARN  leftovers", preflight.Warn},
		{"little room", func(f *preflight.Facts) { f.Free = 1 << 30 }, "WARN  disk", preflight.Warn},
		{"a client", func(f *preflight.Facts) { f.Server = false }, "FAIL  windows-build", preflight.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			c.change(&s.facts)
			want := 0
			if c.outcome == preflight.Fail {
				want = 3
			}

			out, err, code := s.run(t, "preflight")
			if code != want || err != "" {
				t.Errorf("exit code %d, %q, want %d", code, err, want)
			}
			if c.line != "" && (!strings.Contains(strings.ToUpper(out), strings.ToUpper(c.line)) || !strings.Contains(out, "→")) {
				t.Errorf("no line %q with a remedy in\n%s", c.line, out)
			}
			// A remedy stands below what is not well, and nowhere else.
			below := false
			for line := range strings.Lines(out) {
				if remedy := strings.Contains(line, "→"); remedy && !below {
					t.Errorf("a remedy for what is well:\n%s", out)
				} else if !remedy {
					word := strings.ToUpper(line)
					below = strings.HasPrefix(word, "FAIL") || strings.HasPrefix(word, "WARN")
				}
			}

			out, _, code = s.run(t, "preflight", "-o", "json")
			var all []preflight.Result
			if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 10 || code != want {
				t.Errorf("json: %d checks, %v, exit code %d", len(all), err, code)
			}
		})
	}
}

// TestPreflightAsks looks at what is asked of the server: its name in lower case, or the one that is given.
func TestPreflightAsks(t *testing.T) {
	s := newServer(t)
	s.run(t, "preflight")
	if s.asked != (local.Asked{Name: "win-a"}) {
		t.Errorf("asked %+v", s.asked)
	}

	s.run(t, "preflight", "--node-name", "b", "--server", "192.0.2.1:6443", "--runtime-endpoint", winserver.RuntimeEndpoint)
	if s.asked != (local.Asked{
		Name:    "b",
		Server:  "192.0.2.1:6443",
		Runtime: winserver.RuntimeEndpoint,
	}) {
		t.Errorf("asked %+v", s.asked)
	}
}

// TestJoinChecksFirst joins a server that cannot: nothing is made on it. A check whose failure is accepted is printed,
// and the join goes on, here to an API server that is not there.
func TestJoinChecksFirst(t *testing.T) {
	join := []string{
		"join", "127.0.0.1:1", "--token", token, "--discovery-token-ca-cert-hash", hash, "--bundle", t.TempDir(), "--discovery-timeout", "1ms",
	}

	for _, c := range []struct {
		name   string
		ignore string
		code   int
		says   string
	}{
		{"none accepted", "", 3, ""},
		{"another accepted", "disk", 3, ""},
		{"this one accepted", "hns", 10, "TCP port open"},
		{"all accepted", "all", 10, "TCP port open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			s.facts.HNSError = "no service"
			args := join
			if c.ignore != "" {
				args = append(args, "--ignore-preflight-errors", c.ignore)
			}

			out, err, code := s.run(t, args...)
			if code != c.code || !strings.Contains(out, "hns") || !strings.Contains(err, c.says) {
				t.Errorf("exit code %d, want %d\n%s%s", code, c.code, out, err)
			}
			if strings.Contains(out, "administrator") {
				t.Errorf("a check that passed is printed:\n%s", out)
			}

			if made, err := os.ReadDir(s.root); err != nil || len(made) > 0 {
				t.Errorf("made %v, %v", made, err)
			}
		})
	}
}

// TestJoinNames: a server whose name cannot be had does not join without one, and its own address may be named.
func TestJoinNames(t *testing.T) {
	join := []string{
		"join", "127.0.0.1:1", "--token", token, "--discovery-token-ca-cert-hash", hash, "--bundle", t.TempDir(),
		"--discovery-timeout", "1ms", "--node-address", "192.0.2.9",
	}
	nameless := func() (string, error) { return "", errors.New("it has no name") }

	for _, c := range []struct {
		name     string
		args     []string
		hostname func() (string, error)
		code     int
		says     string
	}{
		{"an address", join, os.Hostname, 10, "TCP port open"},
		{"no name", join, nameless, 1, "ask for this server's name: it has no name"},
		{"a name that is given", append(join, "--node-name", "b"), nameless, 10, "TCP port open"},
	} {
		s := newServer(t)
		var out, says bytes.Buffer
		code := command.Run(t.Context(), command.Env{
			Out:      &out,
			Err:      &says,
			Args:     c.args,
			Hostname: c.hostname,
			Host:     s.host,
			Facts:    func(context.Context, local.Asked) (preflight.Facts, error) { return s.facts, nil },
		})
		if code != c.code || !strings.Contains(says.String(), c.says) {
			t.Errorf("%s: exit code %d, want %d: %s%s", c.name, code, c.code, out.String(), says.String())
		}
	}
}

// TestNoNode asks a server that is no node.
func TestNoNode(t *testing.T) {
	for _, args := range [][]string{{"status"}, {"leave"}, {"upgrade", "--bundle", t.TempDir()}} {
		out, err, code := newServer(t).run(t, args...)
		if code != 6 || out != "" || !strings.Contains(err, "mullion-agent.exe join makes it one") {
			t.Errorf("%v: exit code %d, %q, %q", args, code, out, err)
		}
	}
}

// joined makes the server a node with one service.
func (s *server) joined(t *testing.T, start bool) {
	t.Helper()
	folder := filepath.Join(s.root, "ProgramData", "mullion-agent")
	const journal = `{"version": 1, "node": "win-a", "server": "https://192.0.2.1:6443", "endpoint": "e", "network": "cbr0",
		"entries": [{"kind": "service", "name": "kubelet"}]}`
	err := errors.Join(os.MkdirAll(folder, 0o755),
		os.WriteFile(filepath.Join(folder, "journal.json"), []byte(journal), 0o600),
		s.services.Create("kubelet", services.Change{Type: services.OwnProcess, Start: services.StartAuto}))
	if err != nil {
		t.Fatal(err)
	}

	if !start {
		return
	}
	h, err := s.services.Open("kubelet", services.StartRight)
	if err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(h.Start(nil), h.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestStatus looks at a node whose service is stopped, and at one that runs while the cluster cannot be asked.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name  string
		start bool
		says  string
	}{
		{"stopped", false, "service kubelet is stopped"},
		{"running", true, "node win-a is not Ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			s.joined(t, c.start)

			out, err, code := s.run(t, "status")
			if code != 5 || !strings.Contains(err, c.says) || !strings.Contains(out, "service     kubelet "+c.name) ||
				!strings.Contains(out, "network     cbr0") || !strings.Contains(out, "Ready       no: ") {
				t.Errorf("exit code %d, %q\n%s", code, err, out)
			}

			out, _, code = s.run(t, "status", "-o", "json")
			var is winserver.Status
			if err := json.Unmarshal([]byte(out), &is); err != nil {
				t.Fatal(err)
			}
			if code != 5 || is.Node != "win-a" || is.Ready || is.Reason == "" || len(is.Services) != 1 ||
				is.Services[0].State != c.name {
				t.Errorf("json: exit code %d, %+v", code, is)
			}
		})
	}
}

// TestLeave takes a node out of its cluster, and says who removes the Node.
func TestLeave(t *testing.T) {
	s := newServer(t)
	s.joined(t, true)

	out, err, code := s.run(t, "leave")
	if code != 0 || err != "" || s.ended != 1 || s.services.Find("kubelet") != nil || !strings.Contains(out, "kubectl delete node win-a") {
		t.Errorf("exit code %d, %q, pods ended %d times\n%s", code, err, s.ended, out)
	}
	if _, _, code := s.run(t, "leave"); code != 6 {
		t.Errorf("leave again: exit code %d, want 6", code)
	}
}

// TestElsewhere runs the program where there is no Windows.
func TestElsewhere(t *testing.T) {
	var out, says bytes.Buffer
	code := command.Run(t.Context(), command.Env{
		Out:      &out,
		Err:      &says,
		Args:     []string{"status"},
		Hostname: os.Hostname,
		Host:     local.Host,
		Facts:    local.Facts,
	})
	if code != 3 || !strings.Contains(says.String(), "joins a Windows Server, and this is none") {
		t.Errorf("exit code %d, %q", code, says.String())
	}
}
