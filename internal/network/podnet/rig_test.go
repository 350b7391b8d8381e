package podnet_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/podnet"
)

// rig is a host whose HNS and programs record in one journal the changes that they are asked for, and fail on request.
type rig struct {
	host
	dir   string
	calls []string
	// failing are the calls that fail, as written in the journal, or by their names if they change nothing.
	failing map[string]bool
	// cancel ends the caller's context when a call fails.
	cancel context.CancelFunc
	// counted is what HNS has counted of each endpoint.
	counted *wire.V1Stats
}

var errAsked = errors.New("asked to fail")

func (r *rig) fails(call string) bool {
	if !r.failing[call] {
		return false
	}
	if r.cancel != nil {
		r.cancel()
	}
	return true
}

// Call is HNS.
func (r *rig) Call(ctx context.Context, req hns.Request) (hns.Reply, error) {
	if err := ctx.Err(); err != nil {
		return hns.Reply{}, err
	}

	call := strings.TrimPrefix(req.Function, "Hcn")
	switch {
	case strings.HasPrefix(call, "Modify"):
		var m wire.Modify
		if err := json.Unmarshal([]byte(req.Text[0]), &m); err != nil {
			return hns.Reply{}, err
		}
		call += " " + m.RequestType + " " + m.ResourceType
	case call == "HNSCall":
		call += " " + req.Text[0]
	}

	reads := []string{"Enumerate", "Query", "Open"}
	if !slices.ContainsFunc(reads, func(verb string) bool { return strings.HasPrefix(call, verb) }) {
		r.calls = append(r.calls, call)
	}
	if r.fails(call) {
		return hns.Reply{}, errAsked
	}

	if r.counted != nil && call == "HNSCall GET" && strings.HasPrefix(req.Text[1], "/endpointstats/") {
		return v1Reply(*r.counted)
	}
	return r.host.Call(ctx, req)
}

// v1Reply returns a successful answer of HNS v1.
func v1Reply(output any) (hns.Reply, error) {
	text, err := json.Marshal(output)
	if err != nil {
		return hns.Reply{}, err
	}
	text, err = json.Marshal(wire.V1Reply{
		Success: true,
		Output:  text,
	})
	return hns.Reply{Text: string(text)}, err
}

// Run imitates a CNI plugin of the host that gives every pod the same address.
func (r *rig) Run(ctx context.Context, program string, env []string, _ []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	command := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "CNI_COMMAND="); ok {
			command = v
		}
	}

	if command == "VERSION" {
		return []byte(`{"cniVersion":"1.0.0","supportedVersions":["1.0.0"]}`), nil
	}
	call := command + " " + program
	r.calls = append(r.calls, call)
	if r.fails(call) {
		return []byte(`{"cniVersion":"1.0.0","code":11,"msg":"the plugin was asked to fail"}`), errAsked
	}

	return []byte(`{"cniVersion":"1.0.0","ips":[{"address":"10.244.1.9/24"}]}`), nil
}

// since returns the calls since the last time.
func (r *rig) since() []string {
	calls := r.calls
	r.calls = nil
	return calls
}

// left returns the namespaces and endpoints in HNS that are not the host's own.
func (r *rig) left(t *testing.T) []string {
	t.Helper()
	namespaces, err := hcn.List[wire.Namespace](t.Context(), r.host, hcn.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	endpoints, err := hcn.List[wire.Endpoint](t.Context(), r.host, hcn.Endpoint)
	if err != nil {
		t.Fatal(err)
	}

	var all []string
	for _, n := range namespaces {
		if n.Type != wire.NamespaceHostDefault {
			all = append(all, n.ID)
		}
	}

	for _, e := range endpoints {
		if e.Name != "cbr0_ep" {
			all = append(all, e.Name)
		}
	}

	return all
}

// loseHNS replaces HNS by an empty one, as after the host was set up anew.
func (r *rig) loseHNS() { r.host = newHost(wire.Version{Major: 13, Minor: 2}) }

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{dir: t.TempDir(), failing: map[string]bool{}}
	r.loseHNS()
	if err := os.Mkdir(filepath.Join(r.dir, "c"), 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

// open returns a process's view of the network.
func (r *rig) open(t *testing.T, cfg podnet.Config) *podnet.Network {
	t.Helper()
	cfg.HNS = r
	cfg.Exec = r
	cfg.Drive = filepath.Join(r.dir, "c")
	cfg.PinDir = filepath.Join(r.dir, "pins")
	cfg.CacheDir, cfg.Local = filepath.Join(r.dir, "cni"), prefixes(t, "10.244.0.0/16")
	n, err := podnet.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// prepare sets the range or installs the configuration that w needs to connect pods.
func (r *rig) prepare(t *testing.T, w way, n *podnet.Network) {
	t.Helper()
	if !w.ranged {
		dir := filepath.Join(r.dir, "c", "etc", "cni", "net.d")
		conf := `{"cniVersion":"1.0.0","name":"theirs","plugins":[{"type":"others"}]}`
		put(t, filepath.Join(dir, "10-theirs.conflist"), conf)
		return
	}
	if err := n.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/24")...); err != nil {
		t.Fatal(err)
	}
	r.since()
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// open returns a host whose pods are connected in this way.
func (w way) open(t *testing.T) (*rig, *podnet.Network) {
	t.Helper()
	r := newRig(t)
	return r, r.open(t, w.config)
}

func expect(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// namespaceMade returns the calls that make a pod's namespace.
func namespaceMade() []string { return []string{"CreateNamespace", "ModifyNamespace Add Container"} }

func podA() podnet.Pod {
	return podnet.Pod{
		ID:        "a",
		Name:      "a",
		Namespace: "default",
	}
}
