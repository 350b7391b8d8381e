package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// Arg is a flag of a program, as kubeadm's extraArgs have it: the name is without dashes
// (https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/#kubeadm-k8s-io-v1beta4-Arg).
type Arg struct {
	Name  string `yaml:"name" json:"name"`
	Value string `yaml:"value" json:"value"`
}

// Flag returns the flag as the program reads it.
func (a Arg) Flag() string { return "--" + a.Name + "=" + a.Value }

// Fields are those of a configuration file of Kubernetes, as JSON has them.
type Fields map[string]any

// UnmarshalYAML reads fields as Kubernetes reads YAML, which is by way of JSON.
func (f *Fields) UnmarshalYAML(node *yaml.Node) error {
	var raw map[string]any
	if err := node.Decode(&raw); err != nil {
		return err
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return fmt.Errorf("line %d: a configuration of Kubernetes cannot have this: %w", node.Line, err)
	}
	return json.Unmarshal(text, (*map[string]any)(f))
}

// given is what a person may not set in a program's configuration or flags.
type given struct {
	// equals are the fields and flags that have an equal in cluster.yaml, with its name there.
	equals map[string]string
	// own are what Mullion itself sets and relies on: it finds and reaches the program by that.
	own []string
}

func kubeletFields() given {
	return given{
		equals: map[string]string{"systemReserved": "systemReserved", "kubeReserved": "kubeReserved"},
		own: []string{
			"address", "apiVersion", "authentication", "authorization", "cgroupDriver", "cgroupRoot", "cgroupsPerQOS",
			"containerRuntimeEndpoint", "enableServer", "failCgroupV1", "healthzBindAddress", "healthzPort",
			"imageServiceEndpoint", "kind", "port", "registerNode", "resolvConf", "rotateCertificates",
			"serverTLSBootstrap", "tlsCertFile", "tlsPrivateKeyFile",
		},
	}
}

func kubeletFlags() given {
	return given{
		equals: map[string]string{
			"node-labels": "labels", "system-reserved": "systemReserved", "kube-reserved": "kubeReserved",
		},
		own: []string{
			"address", "anonymous-auth", "authentication-token-webhook", "authorization-mode", "bootstrap-kubeconfig",
			"cert-dir", "cgroup-driver", "cgroup-root", "cgroups-per-qos", "client-ca-file", "config", "config-dir",
			"container-runtime-endpoint", "healthz-bind-address", "healthz-port", "help", "hostname-override",
			"image-service-endpoint", "kubeconfig", "node-ip", "port", "register-node", "resolv-conf", "root-dir",
			"rotate-certificates", "tls-cert-file", "tls-private-key-file", "version", "windows-service",
		},
	}
}

func proxyFlags() given {
	return given{
		equals: map[string]string{
			"enable-dsr":   "networking.enableDSR",
			"proxy-mode":   "networking.kubeProxyMode",
			"network-name": "networking.mode",
			"cluster-cidr": "networking.podSubnet",
		},
		own: []string{
			"bind-address", "cleanup", "config", "healthz-bind-address", "help", "hostname-override", "kubeconfig",
			"master", "metrics-bind-address", "source-vip", "version", "windows-service", "write-config-to",
		},
	}
}

// programs checks what a node's kubelet and kube-proxy are given. Whether the kubelet knows the fields of its
// configuration is seen when the node is planned.
func (v *validator) programs(i int, n Node) {
	at := func(field string) []any { return []any{"nodes", i, field} }
	for _, field := range slices.Sorted(maps.Keys(n.KubeletConfiguration)) {
		v.refuse(append(at("kubeletConfiguration"), field), field, kubeletFields())
	}
	v.flags(at("kubeletExtraArgs"), n.KubeletExtraArgs, kubeletFlags())
	v.flags(at("kubeProxyExtraArgs"), n.KubeProxyExtraArgs, proxyFlags())
}

var flagForm = lazyregexp.New(`^[a-z][a-z0-9_-]*$`)

func (v *validator) flags(path []any, args []Arg, g given) {
	for i, a := range args {
		at := append(slices.Clone(path), i)
		switch {
		case !flagForm.MatchString(a.Name):
			v.fail(append(at, "name"), "%q is not the name of a flag without its dashes, for example v", a.Name)
		case strings.ContainsFunc(a.Value, func(r rune) bool { return r < ' ' }):
			v.fail(append(at, "value"), "has a control character")
		default:
			v.refuse(at, strings.ReplaceAll(a.Name, "_", "-"), g) // the programs take both
		}
	}
}

// refuse fails for a field or flag that is given already. The case of a field does not matter to JSON.
func (v *validator) refuse(path []any, name string, g given) {
	for equal, other := range g.equals {
		if strings.EqualFold(equal, name) {
			v.fail(path, "%s is given by %s in cluster.yaml", name, other)
		}
	}
	if slices.ContainsFunc(g.own, func(own string) bool { return strings.EqualFold(own, name) }) {
		v.fail(path, "%s is Mullion's to set: it reaches the program by that", name)
	}
}
