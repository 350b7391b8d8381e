//go:build cluster

package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keptPod is a pod with a volume of the StorageClass local. The volume has to be on the machine that joined, because
// the server has no nodes.
const keptPod = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: kept}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: keeps, labels: {app: keeps}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: web, image: 'mullion.local/webserver:v1', imagePullPolicy: Never, volumeMounts: [{name: kept, mountPath: 'C:\kept'}]}
  volumes: [{name: kept, persistentVolumeClaim: {claimName: kept}}]
`

// keepsVolume lets a pod on the other machine write to a volume and another pod read it; the volume has to be removed
// with its claim.
func keepsVolume(t *testing.T, server, other cluster) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kept.yaml")
	if err := os.WriteFile(file, []byte(keptPod), 0o600); err != nil {
		t.Fatal(err)
	}

	folder := filepath.Join(other.data, "nodes", "m1-win-1", "prefix", "Files", "var", "lib", "mullion", "volumes")
	volumes := func() string {
		all, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, v := range all {
			names = append(names, v.Name())
		}

		return strings.Join(names, " ")
	}

	for n := range 2 {
		server.must(t, "kubectl", "apply", "-f", file)
		server.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/keeps", "--timeout=90s")
		if n == 0 {
			server.must(t, "kubectl", "exec", "keeps", "--", "cmd", "/c", `echo written> C:\kept\note`)
		}
		if out := server.must(t, "kubectl", "exec", "keeps", "--", "cmd", "/c",
			`type C:\kept\note`); strings.TrimSpace(out) != "written" {
			t.Errorf("the volume has %q", out)
		}

		if name := server.must(t, "kubectl", "get", "pvc", "kept", "-o",
			"jsonpath={.spec.volumeName}"); volumes() != name {
			t.Errorf("the machine has the volumes %q, want %q", volumes(), name)
		}
		server.must(t, "kubectl", "delete", "pod", "keeps", "--timeout=60s")
	}

	server.must(t, "kubectl", "delete", "pvc", "kept", "--timeout=60s")
	poll(t, settle, func(ctx context.Context) error {
		out, err := server.mullion(ctx, t, "kubectl", "get", "pv", "-o", "name")
		if left := volumes(); err == nil && out+left != "" {
			err = errors.New("still there: " + out + left)
		}
		return err
	})
}

// balanced puts a load balancer in front of a pod on the other machine; both machines have to reach the load balancer's
// address.
func balanced(t *testing.T, server, other cluster) {
	t.Helper()
	server.must(t, "kubectl", "run", "balanced", "--image=mullion.local/webserver:v1", "--image-pull-policy=Never")
	server.must(t, "kubectl", "expose", "pod", "balanced", "--port=80", "--type=LoadBalancer")
	server.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/balanced", "--timeout=60s")
	server.jsonpath(t, `^10\.213\.\d+\.\d+$`, "service", "balanced", "{.status.loadBalancer.ingress[0].ip}")
	ip := server.must(t, "kubectl", "get", "service", "balanced", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
	for _, from := range []cluster{server, other} {
		poll(t, settle, func(ctx context.Context) error { return get(ctx, from.netns, "", ip) })
	}
	server.must(t, "kubectl", "delete", "service,pod", "balanced", "--timeout=60s")
}
