//go:build cluster

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
)

// TestDeployedNetwork brings up a Windows node without kube-proxy and CNI plugin, as
// examples/windows-network/cluster.yaml has it, and deploys both by the manifests there (testdata/deployed).
func TestDeployedNetwork(t *testing.T) {
	needs(t)
	sideBySide(t)
	c, given := givenCluster(t)

	// Other subnets than the other tests' clusters, and another name, so that the context is not that of a user's
	// cluster.
	subnets := strings.NewReplacer("10.213.0.0/24", "10.205.0.0/24", "10.244.0.0/16", "10.204.0.0/16", "10.96.0.0/16",
		"10.95.0.0/16", "kind: Cluster\n", "kind: Cluster\nname: mullion-deployed\n")
	if given {
		spec, err := os.ReadFile(filepath.Join(c.data, "cluster.json"))
		if err != nil || !strings.Contains(string(spec), "disableDefaultCNI") {
			t.Skip("E2E_DATA_DIR names a cluster with a network")
		}
	} else {
		spec, err := os.ReadFile(filepath.Join(exampleDir, "cluster.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		c.bringUp(t, subnets.Replace(string(spec)))
	}

	c.deployables(t)
	out, err := c.mullion(t.Context(), t, "kubectl", "get", "endpointslice", "kubernetes", "-o",
		"jsonpath={.endpoints[0].addresses[0]}:{.ports[0].port}")
	host, port, ok := strings.Cut(out, ":")
	if err != nil || !ok {
		t.Fatalf("where the API server is: %v\n%s", err, out)
	}

	c.example(t, "cni.yaml", filepath.Join(c.home, "cni.yaml"), subnets,
		strings.NewReplacer("APIHOST", host, "APIPORT", port))
	c.example(t, "kube-proxy.yaml", filepath.Join(c.home, "kube-proxy.yaml"), strings.NewReplacer("APISERVER", out))
	if !t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 filepath.Join("testdata", "deployed"),
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			Cmds:                commands(),
			Setup: func(e *testscript.Env) error {
				e.Vars = append(e.Vars, "MULLION_DATA_DIR="+c.data, "KUBECONFIG="+c.kubeconfig, "MANIFESTS="+c.home,
					"PATH="+c.bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
				return nil
			},
		})
	}) {
		logs(t, c)
	}
}

const exampleDir = "../../examples/windows-network"

// example writes a file of the example with the values that a user fills in.
func (c cluster) example(t *testing.T, name, to string, fill ...*strings.Replacer) {
	t.Helper()
	filled(t, filepath.Join(exampleDir, name), to, fill...)
}

// filled writes a file with the values that a user fills in.
func filled(t *testing.T, from, to string, fill ...*strings.Replacer) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, r := range fill {
		text = r.Replace(text)
	}
	if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// laid copies files to where an image is built from.
func laid(t *testing.T, files map[string]string) {
	t.Helper()
	for to, from := range files {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// deployables builds the images of the example, as the guide says, and the image of the pods that use the network.
func (c cluster) deployables(t *testing.T) {
	t.Helper()
	tool := filepath.Join(c.home, "tool")
	proxy := filepath.Join(c.home, "kube-proxy")
	cni := filepath.Join(c.home, "cni")
	for file, source := range map[string]string{
		filepath.Join(tool, "tool.exe"):   "./tool",
		filepath.Join(cni, "network.exe"): exampleDir + "/cni",
	} {
		compile(t, "windows", source, file)
	}

	windows := filepath.Join(c.bin, "windows")
	laid(t, map[string]string{
		filepath.Join(proxy, "start.ps1"):           exampleDir + "/kube-proxy/start.ps1",
		filepath.Join(proxy, "kube-proxy.exe"):      filepath.Join(bundle.At(c.bin, version.Kubernetes).Node(), "kube-proxy.exe"),
		filepath.Join(cni, "start.ps1"):             exampleDir + "/cni/start.ps1",
		filepath.Join(cni, "cni", "win-bridge.exe"): filepath.Join(windows, "win-bridge.exe"),
		filepath.Join(cni, "cni", "host-local.exe"): filepath.Join(windows, "host-local.exe"),
	})

	for folder, spec := range map[string]string{
		tool:  "tool/image.yaml",
		proxy: exampleDir + "/kube-proxy/image.yaml",
		cni:   exampleDir + "/cni/image.yaml",
	} {
		if out, err := c.mullion(t.Context(), t, "image", "build", folder, "-f", spec); err != nil {
			t.Fatalf("mullion image build: %v\n%s", err, out)
		}
	}
}
