package aksengine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/spec/aksengine"
)

// TestModels reads whole models: windows.json of the documents, byte for byte, and one that names much of what AKS
// Engine knows. The goldens have what is said of them, and the cluster.yaml that they are.
func TestModels(t *testing.T) {
	models, err := filepath.Glob("testdata/*.json")
	if err != nil || len(models) == 0 {
		t.Fatalf("no models: %v", err)
	}

	for _, file := range models {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !aksengine.Is(text) {
				t.Error("it is not taken for a model")
			}

			c, notes, err := aksengine.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, n := range notes {
				fmt.Fprintln(&b, n)
			}

			described, err := yaml.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString("\n" + string(described))
			if strings.Contains(b.String(), "secret-of-the-model") || strings.Contains(b.String(), "<your-") {
				t.Errorf("a password or key of the model is said:\n%s", b.String())
			}
			golden.Assert(t, b.String(), filepath.Base(file)+".golden")
		})
	}
}

// model returns a model with a pool, whose other parts are given.
func model(orchestrator, pool, rest string) string {
	return `{"apiVersion": "vlabs", "properties": {"orchestratorProfile": {` + orchestrator + `}, "agentPoolProfiles": [{` +
		pool + `}]` + rest + `}}`
}

// TestNotes: what becomes of single fields.
func TestNotes(t *testing.T) {
	const pool, windows = `"name": "p", "count": 1`, `"name": "w", "count": 1, "osType": "windows"`
	config := func(fields string) string { return `"kubernetesConfig": {"networkPlugin": "kubenet", ` + fields + `}` }

	const at = "properties.orchestratorProfile.kubernetesConfig."
	for _, tc := range []struct {
		name, model string
		want        []string
		is          func(spec.Cluster) bool
	}{
		{
			name:  "a field in other case",
			model: model(`"ORCHESTRATORTYPE": "kubernetes", `+config(`"CLUSTERSUBNET": "10.20.0.0/16"`), pool, ""),
			is:    func(c spec.Cluster) bool { return c.Networking.PodSubnet == "10.20.0.0/16" },
		},
		{
			name:  "unknown fields",
			model: model(config(`"colour": "red"`), pool+`, "shape": [1]`, `, "mood": {"is": "good"}`),
			want: []string{
				at + "colour: unknown, ignored", "properties.agentPoolProfiles[0].shape: unknown, ignored",
				"properties.mood: unknown, ignored",
			},
		},
		{
			name:  "a hostile name of a field",
			model: model(config(`"a\u001b[31m\n": 1`), pool, ""),
			want:  []string{at + `"a\x1b[31m\n": unknown, ignored`},
		},
		{
			name:  "a plugin that nobody knows",
			model: model(`"kubernetesConfig": {"networkPlugin": "sec ret\u001b"}`, pool, ""),
			want:  []string{at + "networkPlugin: what it says is not there: Windows pods have win-bridge (mode l2bridge)"},
		},
		{
			name:  "flannel",
			model: model(`"kubernetesConfig": {"networkPlugin": "flannel", "networkPolicy": "calico"}`, pool, ""),
			want: []string{
				at + `networkPlugin: "flannel" is win-overlay (mode overlay), without flannel's own programs`,
				at + `networkPolicy: "calico" is not there: NetworkPolicies have no effect`,
			},
			is: func(c spec.Cluster) bool { return c.Networking.Mode == spec.ModeOverlay },
		},
		{
			name:  "the address of DNS, as it is and as it is not",
			model: model(config(`"serviceCidr": "10.0.0.0/16", "dnsServiceIP": "10.0.0.11"`), pool, ""),
			want:  []string{at + "dnsServiceIP: the cluster's DNS is 10.0.0.10"},
			is:    func(c spec.Cluster) bool { return c.Networking.ServiceSubnet == "10.0.0.0/16" },
		},
		{
			name:  "what is always on",
			model: model(config(`"enableRbac": false, "enableAggregatedAPIs": true`), pool, ""),
			want:  []string{at + "enableRbac: RBAC is always on"},
		},
		{
			name:  "pods of a node",
			model: model(config(`"maxPods": 30`), pool+`, "kubernetesConfig": {"maxPods": 60}`, ""),
			is:    func(c spec.Cluster) bool { return c.Nodes[0].KubeletConfiguration["maxPods"] == float64(60) },
		},
		{
			name: "labels",
			model: model(config(`"maxPods": 30`), pool+`, "customNodeLabels": {"disk": "ssd", "kubernetes.io/role": "x", "b d": "x"}`,
				""),
			want: []string{
				`properties.agentPoolProfiles[0].customNodeLabels."b d": ignored: not a label of Kubernetes`,
				"properties.agentPoolProfiles[0].customNodeLabels.kubernetes.io/role: ignored: a kubelet may not give its node this label",
			},
			is: func(c spec.Cluster) bool { return c.Nodes[0].Labels["disk"] == "ssd" && len(c.Nodes[0].Labels) == 2 },
		},
		{
			name: "a Windows version by its image",
			model: model(config(`"maxPods": 30`), windows,
				`, "windowsProfile": {"windowsOffer": "WindowsServerSemiAnnual", "windowsSku": "Datacenter-Core-1909-with-Containers-smalldisk"}`),
			is: func(c spec.Cluster) bool { return c.Nodes[0].WindowsVersion == "1909" },
		},
		{
			name:  "a Windows version by its build",
			model: model(config(`"maxPods": 30`), windows, `, "windowsProfile": {"windowsSku": "aks", "imageVersion": "20348.1.2"}`),
			is:    func(c spec.Cluster) bool { return c.Nodes[0].WindowsVersion == "ltsc2022" },
		},
		{
			name:  "a Windows version that nobody knows",
			model: model(config(`"maxPods": 30`), windows, `, "windowsProfile": {"windowsSku": "2012-R2-Datacenter"}`),
			want: []string{
				"properties.windowsProfile.windowsSku: names no Windows version that Mullion knows, so the nodes are of Windows Server 2019",
			},
			is: func(c spec.Cluster) bool { return c.Nodes[0].WindowsVersion == "ltsc2019" },
		},
		{
			name:  "a name that is too long for a computer",
			model: model(config(`"maxPods": 30`), `"name": "averylongpoolname", "count": 2, "osType": "Windows"`, `, "windowsProfile": {"windowsSku": "2022"}`),
			want: []string{
				"properties.agentPoolProfiles[0].name: ignored: with its number it is not the name of a computer, at most 15 letters, digits and dashes",
			},
			is: func(c spec.Cluster) bool { return c.Nodes[1].Name == "win-2" },
		},
		{
			name:  "masters",
			model: model(config(`"maxPods": 30`), pool, `, "masterProfile": {"count": 5, "dnsPrefix": "Not A Name"}`),
			want: []string{
				"properties.masterProfile.count: there is one control plane, not 5; kubeadm makes several on bare Linux hosts",
				"properties.masterProfile.dnsPrefix: ignored: it is not a DNS label of at most 40 characters, so it cannot be the cluster's name",
			},
		},
		{name: "a byte order mark", model: "\ufeff" + model(config(`"maxPods": 30`), pool, "")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, notes, err := aksengine.Read([]byte(tc.model))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range notes {
				got = append(got, n.String())
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if tc.is != nil && !tc.is(c) {
				t.Errorf("the cluster is %+v", c)
			}
		})
	}
}

// TestManyNotes: what is said of a model is bounded.
func TestManyNotes(t *testing.T) {
	var fields strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&fields, `, "field%d": 1`, i)
	}
	_, notes, err := aksengine.Read([]byte(model(`"kubernetesConfig": {"networkPlugin": "kubenet"}`, `"name": "p", "count": 1`, fields.String())))
	if err != nil || len(notes) != 201 || notes[200].String() != "properties: 800 more fields are ignored" {
		t.Errorf("%d notes, the last is %q: %v", len(notes), notes[len(notes)-1], err)
	}
}

// TestFaults: what is wrong with a model, with its place, and without what it says there.
func TestFaults(t *testing.T) {
	const pool = `"name": "p", "count": 1`
	for _, tc := range []struct{ name, model, want string }{
		{"empty", ``, "the JSON ends too early"},
		{"cut off", `{"properties": {"windowsProfile": {"adminPassword": "secret-of-the-model"`, "the JSON ends too early"},
		{"no JSON", "{\n\"properties\": {,}}", "line 2: invalid character"},
		{"more", `{"properties": {}} {}`, "something follows the model's last brace"},
		{"no object", `{"properties": [1]}`, "properties: is a list, want an object"},
		{"no properties", `{"apiVersion": "vlabs"}`, "properties: is missing"},
		{"no pools", `{"properties": {}}`, "properties.agentPoolProfiles: is missing"},
		{"pools", `{"properties": {"agentPoolProfiles": {}}}`, "properties.agentPoolProfiles: is an object, want a list"},
		{"a pool", `{"properties": {"agentPoolProfiles": ["secret-of-the-model"]}}`, "agentPoolProfiles[0]: is a string, want an object"},
		{"no count", model("", `"name": "p"`, ""), "agentPoolProfiles[0].count: is missing"},
		{"a count of 0", model("", `"count": 0`, ""), "agentPoolProfiles[0].count: 0 is not a whole number from 1 to 100"},
		{"a huge count", model("", `"count": 1e99`, ""), "agentPoolProfiles[0].count: 1e99 is not a whole number"},
		{"a count in words", model("", `"count": "secret-of-the-model"`, ""), "agentPoolProfiles[0].count: is a string, want a number"},
		{"a system", model("", pool+`, "osType": "Plan9"`, ""), `agentPoolProfiles[0].osType: "Plan9" is neither Linux nor Windows`},
		{"a type", model(`"orchestratorType": "DCOS"`, pool, ""), `properties.orchestratorProfile.orchestratorType: "DCOS" is not Kubernetes`},
		{
			"a subnet", model(`"kubernetesConfig": {"clusterSubnet": "secret-of-the-model"}`, pool, ""),
			"kubernetesConfig.clusterSubnet: is not a subnet",
		},
		{
			"a subnet that is too small", model(`"kubernetesConfig": {"clusterSubnet": "10.1.0.0/30"}`, pool, ""),
			"properties.orchestratorProfile.kubernetesConfig.clusterSubnet: \"10.1.0.0/30\": the prefix length must be between",
		},
		{
			"subnets that overlap", model(`"kubernetesConfig": {"clusterSubnet": "10.0.0.0/8", "serviceCidr": "10.0.0.0/16"}`, pool, ""),
			"overlaps",
		},
		{"DNS", model(`"kubernetesConfig": {"dnsServiceIP": "secret-of-the-model"}`, pool, ""), "dnsServiceIP: is not an IP address"},
		{"a flag", model(`"kubernetesConfig": {"enableRbac": "yes"}`, pool, ""), "enableRbac: is a string, want true or false"},
		{"masters", model("", pool, `, "masterProfile": {"count": 7}`), "properties.masterProfile.count: 7 is not a whole number from 1 to 5"},
		{"two pools of a name", model("", pool+`}, {`+pool, ""), "agentPoolProfiles[1].name: two pools have this name"},
		{
			"too many nodes", model("", `"name": "a", "count": 100}, {"name": "b", "count": 100}, {"name": "c", "count": 100`, ""),
			"properties.agentPoolProfiles: 300 nodes, at most 200",
		},
		{"too many pools", model("", strings.Repeat(pool+"}, {", 200)+pool, ""), "properties.agentPoolProfiles: 201 pools, at most 100"},
		{"a password", model("", pool, `, "windowsProfile": {"windowsSku": ["secret-of-the-model"]}`), "windowsSku: is a list, want a string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := aksengine.Read([]byte(tc.model))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("the error is %v, want %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "secret-of-the-model") {
				t.Errorf("a value is said: %v", err)
			}
		})
	}
}

// TestIs tells models and cluster.yaml apart.
func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"apiVersion: mullion.dev/v1alpha1\nkind: Cluster\n":         false,
		`{"apiVersion": "mullion.dev/v1alpha1", "kind": "Cluster"}`: false,
		"# {\"properties\": 1}\napiVersion: x\n":                    false,
		"":                                                          false,
		` {"apiVersion":"vlabs"}`:                                   true,
		"\ufeff{\"Properties\" : {":                                 true,
		`{"apiVersion": "2017-07-01", "properties": {"masterProfile":1`: true,
	} {
		if got := aksengine.Is([]byte(text)); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// FuzzRead: a model that is read is a valid cluster, and what is said of any is bounded and printable.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		model(`"kubernetesConfig": {"clusterSubnet": "10.1.0.0/16,fd00::/56", "dnsServiceIP": "::1"}`, `"count": 2, "osType": "Windows"`, ""),
		model("", `"name": "p", "count": 1, "customNodeLabels": {"a": "b"}`, `, "masterProfile": {"count": 3, "dnsPrefix": "a"}`),
		`{"properties": {"agentPoolProfiles": [null]}}`, `{"properties": null}`, `[]`, `{"a":`, "\ufeff{}",
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		c, notes, err := aksengine.Read(text)
		said := ""
		if err != nil {
			said = err.Error()
		} else if err := c.Validate(); err != nil {
			t.Errorf("%q is read, and not valid: %v", text, err)
		}

		for _, n := range notes {
			said += n.String()
		}

		if len(notes) > 201 || strings.ContainsAny(said, "\x1b\x00\x07") {
			t.Errorf("%q: %d notes: %q", text, len(notes), said)
		}
	})
}
