package main

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPlan(t *testing.T) {
	got, err := planOf("cbr0", netip.MustParsePrefix("10.244.1.7/24"))
	addr := netip.MustParseAddr
	want := plan{
		"cbr0", netip.MustParsePrefix("10.244.1.0/24"), addr("10.244.1.1"), addr("10.244.1.2"),
		addr("10.244.1.3"),
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}

	for _, bad := range []string{"10.244.1.0/30", "fd00::/64"} {
		if _, err := planOf("cbr0", netip.MustParsePrefix(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// TestRange waits for the range as the API server comes to have it, and says what the API server said when it never
// does.
func TestRange(t *testing.T) {
	answers := []string{"", `{"spec":{}}`, `{"spec":{"podCIDR":"10.244.1.0/24"}}`}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes/win-1" || r.Header.Get("Authorization") != "Bearer secret" || answers[0] == "" {
			w.WriteHeader(http.StatusForbidden)
		} else {
			_, _ = w.Write([]byte(answers[0]))
		}
		if len(answers) > 1 {
			answers = answers[1:]
		}
	}))

	defer server.Close()
	dir := t.TempDir()
	secrets := filepath.Join(dir, "var/run/secrets/kubernetes.io/serviceaccount")
	if err := os.MkdirAll(secrets, 0o755); err != nil {
		t.Fatal(err)
	}

	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, data := range map[string]string{"token": "secret", "ca.crt": string(ca)} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"CONTAINER_SANDBOX_MOUNT_POINT": dir, "KUBERNETES_SERVICE_HOST": at.Hostname(),
		"KUBERNETES_SERVICE_PORT": at.Port(),
	}

	a, err := connect(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.waitForRange(t.Context(), "win-1"); err != nil || got.String() != "10.244.1.0/24" {
		t.Errorf("the range is %v, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()

	if _, err := a.waitForRange(ctx, "win-2"); err == nil || !strings.Contains(err.Error(), `node "win-2"`) {
		t.Errorf("of a node that may not be read: %v", err)
	}
}
