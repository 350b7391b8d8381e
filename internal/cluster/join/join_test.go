package join

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/spec"
)

// published returns the specification of a cluster for several machines, as others read it.
func published() spec.Cluster {
	return spec.Cluster{
		APIVersion: spec.APIVersion,
		Kind:       spec.Kind,
		Name:       "far",
		Networking: spec.Networking{AdvertiseAddress: "192.0.2.1", UnderlaySubnet: "198.18.0.0/16"},
	}.WithDefaults()
}

// newCluster returns the API of a cluster of Mullion's for several machines.
func newCluster(t *testing.T, objects ...runtime.Object) *api {
	t.Helper()
	return newClusterOf(t, published(), objects...)
}

func newClusterOf(t *testing.T, c spec.Cluster, objects ...runtime.Object) *api {
	t.Helper()
	text, err := machines.Published(c)
	if err != nil {
		t.Fatal(err)
	}
	return newAPI(t, append(objects, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: machines.Cluster, Namespace: machines.Namespace},
		Data:       map[string]string{machines.SpecKey: text},
	})...)
}

// The machine gets the first part that is free, and its nodes are named after it.
func TestJoin(t *testing.T) {
	a := newCluster(t, claim(1, "them"))
	j, r, s := joins(t, a)
	j.Nodes[0].Count = 2
	c, err := j.join(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"prepare", "start"}, r.did); diff != "" {
		t.Error(diff)
	}
	if c.Join.Part != 2 || !slices.Equal(c.NodeNames(), []string{"m2-win-1", "m2-win-2"}) || c.Join.Server != a.url {
		t.Errorf("it is %+v with nodes %q", c.Join, c.NodeNames())
	}
	if diff := cmp.Diff([]string{"this machine is number 2, at 192.0.2.7"}, s.steps); diff != "" {
		t.Error(diff)
	}

	object, err := a.CoreV1().ConfigMaps(machines.Namespace).Get(t.Context(), "machine-2", metav1.GetOptions{})
	if err != nil || !cmp.Equal(object.Data, machines.ClaimData(j.Address, "us")) {
		t.Errorf("the claim: %+v, %v", object, err)
	}
	onlyForUs(t, j.Paths)
}

// The part and its holder are on disk before the part is claimed: a machine that is switched off in between can give it
// back.
func TestClaimIsWrittenDownBefore(t *testing.T) {
	a := newCluster(t)
	j, _, _ := joins(t, a)
	var written []claimRecord
	a.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		l, err := leftoverOf(j.Paths)
		if err != nil || l == nil {
			t.Errorf("the records while a part is claimed: %v, %v", l, err)
		} else {
			written = append(written, l.claim)
		}
		return false, nil, nil
	})

	if _, err := j.join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []claimRecord{{Server: a.url, Part: 1, Holder: "us"}}; !slices.Equal(written, want) {
		t.Errorf("written before: %+v, want %+v", written, want)
	}
}

// A join that is refused leaves nothing, here or in the cluster.
func TestJoinIsRefused(t *testing.T) {
	small := published()
	small.Networking.UnderlaySubnet = "198.18.0.0/22" // of four machines
	full := newClusterOf(t, small, claim(1, "one"), claim(2, "two"), claim(3, "three"))
	other := published()
	other.KubernetesVersion = "v1.35.8" // there is no bundle of it here
	for name, tt := range map[string]struct {
		a      *api
		change func(*joining)
		want   error
		// early: nothing was written, so nothing has to be removed
		early bool
	}{
		"other-kubernetes": {newClusterOf(t, other), func(*joining) {}, bundle.ErrNotThere, true},
		"full":             {full, func(*joining) {}, machines.ErrFull, false},
		"node-of-that-name": {
			newCluster(t, node("m1-win-1")), func(*joining) {}, machines.ErrNodeExists, false,
		},
		"node-address": {
			newCluster(t), func(j *joining) { j.NodeAddresses = []netip.Addr{j.Address} }, ErrNodeAddresses, true,
		},
		"proxy-mode": {
			newCluster(t), func(j *joining) { j.KubeProxyMode = spec.KubeProxyNone }, ErrDeployed, true,
		},
		"no-cni":                        {newCluster(t), func(j *joining) { j.DisableDefaultCNI = true }, ErrDeployed, true},
		"neither-mullions-nor-kubeadms": {newAPI(t), func(*joining) {}, machines.ErrForeign, true},
	} {
		t.Run(name, func(t *testing.T) {
			j, r, _ := joins(t, tt.a)
			tt.change(j)
			before := claims(t, tt.a)
			if _, err := j.finish(t.Context()); !errors.Is(err, tt.want) || errors.Is(err, ErrLeft) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if exists(j.Paths.Data) || slices.Contains(r.did, "start") {
				t.Errorf("%s is there: %v; the machine %q", j.Paths.Data, exists(j.Paths.Data), r.did)
			}

			if diff := cmp.Diff(before, claims(t, tt.a)); diff != "" {
				t.Errorf("the claims before and after: %s", diff)
			}
			if tt.early != (len(r.did) == 0) {
				t.Errorf("the machine did %q", r.did)
			}
		})
	}
}

// claims returns the names of the claims.
func claims(t *testing.T, a *api) []string {
	t.Helper()
	all, err := a.CoreV1().ConfigMaps(machines.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all.Items {
		if c.Name != machines.Cluster {
			names = append(names, c.Name)
		}
	}
	return names
}

var errNotReady = errors.New("wait for node m1-win-1: not Ready")

// registers returns a start that gets as far as the nodes' registration, and fails with the error then.
func registers(t *testing.T, a *api, then error) func(context.Context, cluster.UpOptions) error {
	t.Helper()
	return func(_ context.Context, o cluster.UpOptions) error {
		for name, id := range cluster.NodeClients(o.Paths, o.Spec).Identities {
			certify(t, id.Dir, name)
			if err := a.Tracker().Add(node(name)); err != nil {
				t.Error(err)
			}
		}
		return then
	}
}

// Nodes that do not become Ready are taken out again, with the machine's part. What runs is ended first: a kubelet
// would register its node anew.
func TestJoinIsTakenBack(t *testing.T) {
	a := newCluster(t)
	j, r, _ := joins(t, a)
	r.starts = registers(t, a, errNotReady)
	if _, err := j.finish(t.Context()); !errors.Is(err, errNotReady) || errors.Is(err, ErrLeft) {
		t.Errorf("got %v", err)
	}
	if a.has(t, "m1-win-1") || len(claims(t, a)) > 0 || exists(j.Paths.Data) {
		t.Errorf("left: node %v, claims %q, files %v", a.has(t, "m1-win-1"), claims(t, a), exists(j.Paths.Data))
	}
	if diff := cmp.Diff([]string{"prepare", "start", "stop", "down"}, r.did); diff != "" {
		t.Error(diff)
	}
}

// A join that nobody waits for any more is taken back like one that failed.
func TestJoinThatIsInterruptedIsTakenBack(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	a := newCluster(t)
	j, r, _ := joins(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	r.starts = func(_ context.Context, o cluster.UpOptions) error {
		defer cancel()
		return registers(t, a, context.Canceled)(ctx, o)
	}

	if _, err := j.finish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if a.has(t, "m1-win-1") || len(claims(t, a)) > 0 || exists(j.Paths.Data) {
		t.Errorf("left: node %v, claims %q, files %v", a.has(t, "m1-win-1"), claims(t, a), exists(j.Paths.Data))
	}
}

// Retain keeps all of it, to be looked at.
func TestJoinIsRetained(t *testing.T) {
	a := newCluster(t)
	j, r, _ := joins(t, a)
	j.Retain, r.starts = true, registers(t, a, errNotReady)
	if _, err := j.finish(t.Context()); !errors.Is(err, errNotReady) {
		t.Errorf("got %v", err)
	}
	if !a.has(t, "m1-win-1") || !a.has(t, "machine-1") || !exists(j.Paths.Spec()) || slices.Contains(r.did, "stop") {
		t.Errorf("the machine did %q; what it asked: %q", r.did, a.said(""))
	}
}

// If the server does not answer, a join cannot be taken back. Its records, and nothing else of it, are kept on the
// machine, and the next Leave takes it back.
func TestJoinThatCannotBeTakenBack(t *testing.T) {
	a := newCluster(t)
	j, r, _ := joins(t, a)
	var end func()
	r.starts = func(ctx context.Context, o cluster.UpOptions) error {
		defer func() { end = a.refuse("*", "*", "*", silent()) }()
		return registers(t, a, errNotReady)(ctx, o)
	}

	_, err := j.finish(t.Context())
	if !errors.Is(err, errNotReady) || !errors.Is(err, ErrLeft) {
		t.Errorf("got %v", err)
	}
	says(t, err, `take node "m1-win-1" out of the cluster`, "etcd has no leader")
	if !j.Paths.Leftover() || exists(j.Paths.Spec()) || exists(j.Paths.Node("m1-win-1")) {
		t.Errorf("a leftover: %v, the specification: %v", j.Paths.Leftover(), exists(j.Paths.Spec()))
	}

	end()
	if err := Leave(t.Context(), j.Paths, nil); err != nil || a.has(t, "m1-win-1") || len(claims(t, a)) > 0 {
		t.Errorf("the next Leave: %v; it asked %q", err, a.said(""))
	}
}

// The next join takes back an earlier one that was interrupted, says so, and joins.
func TestJoinAfterOneThatWasCutShort(t *testing.T) {
	a := newCluster(t, node("m1-win-1"), claim(1, "us"))
	j, r, s := joins(t, a)
	j.Paths, j.holder = a.joined(t, 1, "m1-win-1"), "us, later"
	c, err := j.finish(t.Context())
	if err != nil || c.Join.Part != 1 || a.has(t, "m1-win-1") {
		t.Errorf("it has part %+v: %v", c.Join, err)
	}

	if diff := cmp.Diff([]string{"down", "prepare", "start"}, r.did); diff != "" {
		t.Error(diff)
	}
	want := []string{"removed what an interrupted join had left", "this machine is number 1, at 192.0.2.7"}
	if diff := cmp.Diff(want, s.steps); diff != "" {
		t.Error(diff)
	}
}

// The token of a join that was interrupted may have expired since: then the new join's token gives the part back.
func TestRecoverWithTokenThatHasExpired(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	a := newCluster(t, claim(1, "us"))
	j, _, s := joins(t, a)
	j.Paths = a.joined(t, 1)
	a.refuse(theToken.String(), "*", "*", forbidden("configmaps", "machine-1"))
	if err := j.recover(t.Context()); err != nil || a.has(t, "machine-1") || exists(j.Paths.Data) {
		t.Errorf("got %v; the claim is there: %v", err, a.has(t, "machine-1"))
	}
	says(t, errors.New(strings.Join(s.steps, "\n")), "an earlier join was interrupted")
}

// What is left in another cluster that does not answer does not keep a machine from joining. The join says so.
func TestRecoverOfAnotherCluster(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	old, a := newAPI(t, node("win-1"), claim(1, "us")), newCluster(t, claim(1, "us"))
	j, r, s := joins(t, a)
	j.Paths = old.joined(t, 1, "win-1")
	old.refuse("*", "*", "*", silent())
	if err := j.recover(t.Context()); err != nil || exists(j.Paths.Data) {
		t.Errorf("got %v", err)
	}

	if !a.has(t, "machine-1") {
		t.Error("the claim of another cluster is gone")
	}
	if len(s.steps) != 1 || !slices.Equal(r.did, []string{"down"}) {
		t.Errorf("it said %q, and the machine did %q", s.steps, r.did)
	}
	says(t, errors.New(s.steps[0]), "something of it is left in its cluster", `take node "win-1" out`)
}

// If what an earlier join left cannot be removed, the join fails.
func TestRecoverOfWhatStays(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	a := newCluster(t)
	j, r, _ := joins(t, a)
	j.Paths, r.stays = a.joined(t, 0), true
	_, err := j.finish(t.Context())
	says(t, err, "remove what an earlier join left", j.Paths.Data+" is still there")
	if !slices.Equal(r.did, []string{"down"}) || len(claims(t, a)) > 0 {
		t.Errorf("the machine did %q", r.did)
	}
}

// A folder that holds a cluster, or a machine of one, is left alone.
func TestJoinRefusesDataFolder(t *testing.T) {
	paths := freshPaths(t)
	if err := paths.SaveSpec(published()); err != nil {
		t.Fatal(err)
	}
	have, err := Join(t.Context(), Options{Paths: paths, Kubeconfig: filepath.Join(t.TempDir(), "none")})
	conflict, ok := errors.AsType[*cluster.ConflictError](err)
	if !ok || have.Name != "far" {
		t.Fatalf("got %q, %v", have.Name, err)
	}

	says(t, err, paths.Data, `"far"`)
	says(t, errors.New(conflict.Remedy), "`mullion up`", "`mullion leave`", "--data-dir")
	if entries, err := os.ReadDir(paths.Data); err != nil || len(entries) != 2 { // version, cluster.json
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// The machine's own address is the one that it reaches the server from.
func TestSourceAddress(t *testing.T) {
	for server, want := range map[string]string{"https://127.0.0.1:6443": "127.0.0.1", "https://127.0.0.1": "127.0.0.1"} {
		if got, err := sourceAddress(server); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", server, got, err)
		}
	}
	for _, server := range []string{"https://[::1]:6443", "%"} {
		if got, err := sourceAddress(server); err == nil {
			t.Errorf("%s: %v", server, got)
		}
	}
}

// A data folder whose specification this program cannot read holds a cluster: a join would stop that cluster and
// overwrite what it joined with.
func TestJoinRefusesDamagedCluster(t *testing.T) {
	a := newCluster(t)
	paths := a.joined(t, 1, "win-1")
	before, err := os.ReadFile(paths.JoinClaim())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths.Spec(), []byte(`{"apiVersion": "mullion.dev/v9"}`), 0o600); err != nil {
		t.Fatal(err)
	}

	_, err = Join(t.Context(), Options{Paths: paths, Kubeconfig: filepath.Join(t.TempDir(), "none")})
	if conflict, ok := errors.AsType[*cluster.ConflictError](err); !ok || conflict.Remedy == "" {
		t.Errorf("got %v", err)
	}
	says(t, err, paths.Spec())
	if after, err := os.ReadFile(paths.JoinClaim()); err != nil || string(after) != string(before) {
		t.Errorf("its claim is now %q, %v", after, err)
	}
}

// If the person does not wait until an earlier join is taken back, its records stay as they were: nothing else knows
// what it has in its cluster.
func TestRecoverIsInterrupted(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	a := newCluster(t, node("win-1"), claim(1, "us"))
	j, r, _ := joins(t, a)
	j.Paths = a.joined(t, 1, "win-1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.finish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}

	if len(r.did) > 0 || !j.Paths.Leftover() {
		t.Errorf("the machine did %q, and the records are there: %v", r.did, j.Paths.Leftover())
	}
	if err := Leave(t.Context(), j.Paths, nil); err != nil || a.has(t, "win-1") || a.has(t, "machine-1") {
		t.Errorf("a Leave after that: %v", err)
	}
}

// A machine whose nodes are Ready stays in the cluster even if the token that was made for the join cannot be removed.
// The join says so.
func TestTokenOfJoinThatStays(t *testing.T) {
	a := newCluster(t)
	j, r, s := joins(t, a)
	j.admin = true
	a.refuse("*", "delete", "secrets", silent())
	if _, err := j.finish(t.Context()); err != nil || !a.has(t, "machine-1") {
		t.Errorf("got %v; the machine did %q", err, r.did)
	}
	says(t, errors.New(strings.Join(s.steps, "\n")), `remove bootstrap token "abcdef"`, "etcd has no leader")
}

// If a join fails and its token cannot be removed, the error says both.
func TestTokenOfJoinThatFails(t *testing.T) {
	a := newCluster(t)
	j, r, _ := joins(t, a)
	j.admin, r.starts = true, registers(t, a, errNotReady)
	a.refuse("*", "delete", "secrets", silent())
	_, err := j.finish(t.Context())
	says(t, err, "not Ready", `remove bootstrap token "abcdef"`)
	if a.has(t, "m1-win-1") || len(claims(t, a)) > 0 || exists(j.Paths.Data) {
		t.Errorf("left: node %v, claims %q, files %v", a.has(t, "m1-win-1"), claims(t, a), exists(j.Paths.Data))
	}
}
