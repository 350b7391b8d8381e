//go:build kernel || wine || cluster

// Package kdctest runs MIT's Kerberos server for tests, in a network namespace.
package kdctest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/process/proc"
)

// Realm is the server's, Host the loopback.
const (
	Realm = "CONTOSO.COM"
	Host  = "127.0.0.1"
	port  = "88"
)

// KDC is a server.
type KDC struct {
	dir, host string
	env       []string
}

// Start starts a server in the network namespace pinned at netns, where it listens on the IPv4 address host, and ends
// it with the test. The test is skipped where the server is not installed.
func Start(t *testing.T, netns, host string) *KDC {
	t.Helper()
	for _, program := range []string{"krb5kdc", "kdb5_util", "kadmin.local"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: MIT's Kerberos server is in Debian's packages krb5-kdc and krb5-admin-server", program)
		}
	}

	k := &KDC{dir: t.TempDir(), host: host}

	// A server of Samba that is in no domain refuses tickets with a PAC, which a KDC adds since 1.20.
	k.env = append(k.env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "KRB5_CONFIG="+k.write(t, "krb5.conf", fmt.Sprintf(
		"[libdefaults]\n default_realm = %[1]s\n dns_lookup_kdc = false\n[realms]\n %[1]s = {\n  kdc = %[2]s\n }\n",
		Realm, host)), "KRB5_KDC_PROFILE="+k.write(t, "kdc.conf", fmt.Sprintf(`[kdcdefaults]
 kdc_listen = %[1]s:%[2]s
 kdc_tcp_listen = %[1]s:%[2]s
[realms]
 %[3]s = {
  database_name = %[4]s/principal
  key_stash_file = %[4]s/stash
  acl_file = %[4]s/acl
  max_life = 10h
  disable_pac = true
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
 }
[logging]
 kdc = FILE:%[4]s/log
`, host, port, Realm, k.dir)))
	k.run(t, "kdb5_util", "create", "-s", "-r", Realm, "-P", "of-the-test")
	k.serve(t, netns)

	return k
}

func (k *KDC) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(k.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (k *KDC) run(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = k.env
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "while") {
		t.Fatalf("%s %s: %v\n%s", program, args, err, out)
	}
}

func (k *KDC) serve(t *testing.T, netns string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "nsenter", "--net="+netns, "krb5kdc", "-n")
	cmd.Env = k.env
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	var err error
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); {
		var c net.Conn
		if c, err = proc.DialIn(netns)(t.Context(), "tcp", net.JoinHostPort(k.host, port)); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-t.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}

	log, _ := os.ReadFile(filepath.Join(k.dir, "log"))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	t.Fatalf("wait for krb5kdc: %v\n%s\n%s", err, said.Bytes(), log)
}

// Add makes a principal with a random key, and returns a keytab of it.
func (k *KDC) Add(t *testing.T, principal string) string {
	t.Helper()
	file := filepath.Join(k.dir, fmt.Sprintf("%x.keytab", principal))
	k.run(t, "kadmin.local", "-r", Realm, "addprinc", "-randkey", principal)
	k.run(t, "kadmin.local", "-r", Realm, "ktadd", "-k", file, "-norandkey", principal)
	return file
}

// Remove removes a principal.
func (k *KDC) Remove(t *testing.T, principal string) {
	t.Helper()
	k.run(t, "kadmin.local", "-r", Realm, "delprinc", "-force", principal)
}
