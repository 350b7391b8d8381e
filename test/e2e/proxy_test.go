//go:build cluster

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// connects is an HTTP proxy that notes what is asked of it, and refuses it.
type connects struct {
	address string
	mu      sync.Mutex
	asked   map[string]string // user and password, by host and port
}

// newConnects listens on an address that this machine need not have yet.
func newConnects(t *testing.T, host string) *connects {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		control := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_FREEBIND, 1) })
		if control != nil {
			return control
		}
		return err
	}}

	l, err := config.Listen(t.Context(), "tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}

	p := &connects{address: l.Addr().String(), asked: map[string]string{}}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization"))
			user, password, _ := r.BasicAuth()
			p.mu.Lock()
			p.asked[r.Host] = user + ":" + password
			p.mu.Unlock()
		}
		http.Error(w, "refused", http.StatusBadGateway)
	})}

	go func() { _ = server.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	return p
}

// TestFieldImageProxy brings up a cluster in an environment with an HTTP proxy. Its nodes, of both systems, pull images
// through the proxy, also after a stop, and nobody is told the password.
func TestFieldImageProxy(t *testing.T) {
	needs(t, ownCluster("E2E_DATA_DIR names a cluster without a proxy"))

	c := newCluster(t)
	const machine, password = "10.213.0.254", "notforlogs" // machine: this one's address on the underlay
	proxy := newConnects(t, machine)
	t.Cleanup(func() { c.takeDown(t) })
	mullion := func(args ...string) string {
		t.Helper()
		out, err := c.mullion(t.Context(), t, args...)
		if err != nil {
			logs(t, c)
			t.Fatalf("mullion %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		if strings.Contains(out, password) {
			t.Errorf("mullion %s prints the proxy's password:\n%s", strings.Join(args, " "), out)
		}

		return out
	}
	t.Setenv("HTTPS_PROXY", "http://person:"+password+"@"+proxy.address)
	out := mullion("up", "--windows-version", "ltsc2022")
	if want := "Its nodes pull images through http://" + proxy.address + "."; !strings.Contains(out, want) {
		t.Errorf("up does not say %q:\n%s", want, out)
	}

	if err := os.Unsetenv("HTTPS_PROXY"); err != nil { // the cluster keeps it
		t.Fatal(err)
	}

	for i, again := range []bool{false, true} {
		if again {
			mullion("stop")
			mullion("up")
		}

		for _, system := range []string{"windows", "linux"} {
			registry := fmt.Sprintf("%s-%d.invalid", system, i)
			mullion("kubectl", "run", fmt.Sprintf("%s-%d", system, i), "--image="+registry+"/image:v1",
				`--overrides={"spec":{"nodeSelector":{"kubernetes.io/os":"`+system+`"}}}`)
			until(t, settle, func() error {
				proxy.mu.Lock()
				defer proxy.mu.Unlock()
				if got := proxy.asked[registry+":443"]; got != "person:"+password {
					return fmt.Errorf("the proxy was not asked for %s: it knows %q", registry, proxy.asked)
				}
				return nil
			})
		}
	}

	ofVariables(t, newConnects(t, machine), password, mullion)
	mullion("status", "-o", "json")
	exported := filepath.Join(c.home, "exported")
	mullion("export", "logs", exported)
	err := filepath.WalkDir(exported, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(password)) {
			t.Errorf("%s has the proxy's password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// ofVariables names another proxy on the Windows node, as the documents do. The node pulls through it, not restarted.
func ofVariables(t *testing.T, proxy *connects, password string, mullion func(...string) string) {
	t.Helper()
	mullion("node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
		`[Environment]::SetEnvironmentVariable("HTTPS_PROXY", "http://host:`+password+"@"+proxy.address+
			`/", [EnvironmentVariableTarget]::Machine)`)
	mullion("kubectl", "run", "variables", "--image=variables.invalid/image:v1",
		`--overrides={"spec":{"nodeSelector":{"kubernetes.io/os":"windows"}}}`)
	until(t, settle, func() error {
		proxy.mu.Lock()
		defer proxy.mu.Unlock()
		if got := proxy.asked["variables.invalid:443"]; got != "host:"+password {
			return fmt.Errorf("the proxy of the host's variables was asked as %q", got)
		}
		return nil
	})
}
