//go:build kernel

package controlplane_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// parts is how many machines the cluster of the tests has room for: its own and three others.
const parts = 4

// otherMachine returns a network namespace as another machine, connected to the control plane's.
func (p *plane) otherMachine(t *testing.T) (path string) {
	t.Helper()
	name := fmt.Sprintf("mt-machine-%d", os.Getpid())
	ip(t, "netns", "add", name)
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			t.Errorf("delete namespace: %v: %s", err, out)
		}
	})
	ip(t, "-n", p.netns, "link", "add", "others", "type", "veth", "peer", "name", "eth0", "netns", name)
	ip(t, "-n", p.netns, "addr", "add", "192.0.2.1/24", "dev", "others")
	ip(t, "-n", p.netns, "link", "set", "others", "up")
	ip(t, "-n", name, "addr", "add", "192.0.2.2/24", "dev", "eth0")
	ip(t, "-n", name, "link", "set", "eth0", "up")
	ip(t, "-n", name, "route", "add", "10.213.0.1", "via", "192.0.2.1")

	return "/run/netns/" + name
}

// machinesConfig makes the control plane one that other machines can join.
func machinesConfig(tb testing.TB) bootstrap.Machines {
	tb.Helper()
	text, err := machines.Published(spec.Default(nil, true, "192.0.2.1"))
	if err != nil {
		tb.Fatal(err)
	}
	return bootstrap.Machines{
		Address:       netip.MustParseAddr("192.0.2.1"),
		Server:        "https://10.213.0.1:6443",
		Parts:         parts,
		Specification: text,
	}
}

// testMachines does what a machine does that joins, from another network namespace, against the real control plane.
func testMachines(t *testing.T, p *plane, admin *kubeclient.Client) {
	t.Helper()
	other := p.otherMachine(t)
	bundle, err := pki.Open(p.config.PKIDir())
	if err != nil {
		t.Fatal(err)
	}

	hash, err := bundle.CAHash()
	if err != nil {
		t.Fatal(err)
	}
	made, err := bootstrap.NewToken(t.Context(), admin, time.Hour, "a test")
	if err != nil {
		t.Fatal(err)
	}

	config := discovery.Config{
		Server:   "10.213.0.1:6443",
		Token:    discovery.Token{ID: made.ID, Secret: made.Secret},
		Hashes:   []string{hash},
		Patience: 20 * time.Second,
		Dial:     proc.DialIn(other),
	}

	found, err := discovery.Find(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if found.Server != "https://10.213.0.1:6443" || string(found.CA) != string(bundle.CAPEM()) {
		t.Fatalf("found %q", found.Server)
	}

	t.Run("refusals", func(t *testing.T) { testRefusals(t, admin, config) })
	joining, err := kubeclient.NewForConfig(&rest.Config{
		Host:            found.Server,
		BearerToken:     made.String(),
		TLSClientConfig: rest.TLSClientConfig{CAData: found.CA},
		Dial:            proc.DialIn(other),
		QPS:             -1,
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("claims", func(t *testing.T) { testClaims(t, p, admin, joining) })
}

// testRefusals checks what a real signer and cleaner make of tokens that are not good, or no more.
func testRefusals(t *testing.T, admin *kubeclient.Client, good discovery.Config) {
	t.Helper()
	short, err := bootstrap.CreateToken(t.Context(), admin, bootstrap.Token{
		ID:     "short1",
		Secret: "0123456789abcdef",
	}, 2*time.Second, "expires")
	if err != nil {
		t.Fatal(err)
	}

	brief := good
	brief.Token = discovery.Token{ID: short.ID, Secret: short.Secret}
	brief.Patience = 0
	eventually(t, "an expired token is unknown", func() error {
		_, err := discovery.Find(t.Context(), brief)
		if time.Now().Before(short.Ends) || !errors.Is(err, discovery.ErrToken) {
			return fmt.Errorf("got %w, want %w", err, discovery.ErrToken)
		}
		return nil
	})

	eventually(t, "an expired token is removed", func() error {
		tokens, err := bootstrap.Tokens(t.Context(), admin)
		if err == nil && slices.ContainsFunc(tokens, func(i bootstrap.TokenInfo) bool { return i.ID == short.ID }) {
			err = errors.New("it is there")
		}
		return err
	})

	for name, tt := range map[string]struct {
		change func(*discovery.Config)
		want   error
	}{
		"secret": {func(c *discovery.Config) { c.Token.Secret = "ffffffffffffffff" }, discovery.ErrSecret},
		"hash": {
			func(c *discovery.Config) { c.Hashes = []string{"sha256:" + fmt.Sprintf("%064d", 1)} },
			discovery.ErrAuthority,
		},
		"clock": {
			func(c *discovery.Config) { c.Now = func() time.Time { return time.Now().Add(-time.Hour) } },
			discovery.ErrClock,
		},
		"port": {func(c *discovery.Config) { c.Server = "10.213.0.1:6444" }, discovery.ErrUnreachable},
	} {
		c := good
		c.Patience = 0
		tt.change(&c)
		if _, err := discovery.Find(t.Context(), c); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}

// testClaims has more machines claim parts at once than there are, and checks what a token and a node may do, and that
// the last node's end gives the part back.
func testClaims(t *testing.T, p *plane, admin, joining *kubeclient.Client) {
	t.Helper()
	ctx, address := t.Context(), netip.MustParseAddr("192.0.2.2")
	c, err := machines.Specification(ctx, joining)
	if err != nil || c.Networking.AdvertiseAddress != "192.0.2.1" || len(c.Nodes) != 0 {
		text, _ := json.Marshal(c)
		t.Fatalf("the specification: %s, %v", text, err)
	}

	var mu sync.Mutex
	got, full := []int{}, 0
	var all sync.WaitGroup
	for i := range parts + 1 {
		all.Go(func() {
			part, err := machines.Claim(ctx, joining, machines.Wanted{
				Parts:   parts,
				Address: address,
				Holder:  fmt.Sprint(i),
				Trying:  func(int) error { return nil },
			})
			mu.Lock()
			defer mu.Unlock()

			switch {
			case err == nil:
				got = append(got, part)
			case errors.Is(err, machines.ErrFull):
				full++
			default:
				t.Error(err)
			}
		})
	}

	all.Wait()
	slices.Sort(got)
	if !slices.Equal(got, []int{1, 2, 3}) || full != 2 {
		t.Fatalf("claimed %v, %d found none; want 1, 2, 3 and 2", got, full)
	}

	for _, name := range []string{machines.Cluster, machines.ClaimName(0)} {
		if err := joining.CoreV1().ConfigMaps(machines.Namespace).Delete(ctx, name,
			metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("a token deletes %s: got %v, want forbidden", name, err)
		}
	}

	if err := machines.Release(ctx, joining, 1, "somebody else"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CoreV1().ConfigMaps(machines.Namespace).Get(ctx, machines.ClaimName(1),
		metav1.GetOptions{}); err != nil {
		t.Errorf("a machine gave another's part back: %v", err)
	}

	const name = "m2-win-1"
	if err := machines.FreeNames(ctx, joining, []string{name}); err != nil {
		t.Fatal(err)
	}
	kubelet := p.kubelet(t, admin, name)
	if _, err := kubelet.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	if err := machines.FreeNames(ctx, joining, []string{name}); !errors.Is(err, machines.ErrNodeExists) {
		t.Errorf("a name that is taken: got %v, want %v", err, machines.ErrNodeExists)
	}
	for range 2 {
		if err := machines.Own(ctx, kubelet, 2, []string{name}); err != nil {
			t.Fatal(err)
		}
	}

	if err := kubelet.CoreV1().Nodes().Delete(ctx, "win-1", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a node deletes another: got %v, want forbidden", err)
	}
	if err := kubelet.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Errorf("a node leaves: %v", err)
	}

	eventually(t, "the part is free again", func() error {
		part, err := machines.Claim(ctx, joining, machines.Wanted{
			Parts:   parts,
			Address: address,
			Holder:  "next",
			Trying:  func(int) error { return nil },
		})
		if err == nil && part != 2 {
			t.Errorf("got part %d, want 2", part)
		}

		return err
	})
}
