package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Arg is a flag of a program, as kubeadm's extraArgs have it: the name is without dashes
// (https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/#kubeadm-k8s-io-v1beta4-Arg).
type Arg struct {
	Name  string `yaml:"name" json:"name"`
	Value string `yaml:"value" json:"value"`
}

// Flag is the flag as the program reads it.
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

// Fields and flags that have an equal in cluster.yaml, and its name there.
var (
	kubeletEquals = map[string]string{
		"systemReserved": "systemReserved",
		"kubeReserved":   "kubeReserved",
		"node-labels":    "labels",
	}
	proxyEquals = map[string]string{
		"enable-dsr":   "networking.enableDSR",
		"proxy-mode":   "networking.kubeProxyMode",
		"network-name": "networking.mode",
		"cluster-cidr": "networking.podSubnet",
	}
)

// What Mullion itself gives a node's programs and relies on: it finds and reaches them by that.
var (
	ownKubeletFields = []string{
		"address", "apiVersion", "authentication", "authorization", "cgroupDriver", "cgroupRoot", "cgroupsPerQOS",
		"containerRuntimeEndpoint", "enableServer", "failCgroupV1", "healthzBindAddress", "healthzPort",
		"imageServiceEndpoint", "kind", "port", "registerNode", "resolvConf", "rotateCertificates", "serverTLSBootstrap",
		"tlsCertFile", "tlsPrivateKeyFile",
	}
	ownKubeletFlags = []string{
		"bootstrap-kubeconfig", "cert-dir", "config", "config-dir", "container-runtime-endpoint", "help",
		"hostname-override", "kubeconfig", "node-ip", "root-dir", "version", "windows-service",
	}
	ownProxyFlags = []string{
		"bind-address", "cleanup", "config", "healthz-bind-address", "help", "hostname-override", "kubeconfig", "master",
		"metrics-bind-address", "source-vip", "version", "windows-service", "write-config-to",
	}
)

// programs checks what a node's kubelet and kube-proxy are given. Whether the kubelet knows the fields of its
// configuration is seen when the node is planned.
func (v *validator) programs(i int, n Node) {
	at := func(field string) []any { return []any{"nodes", i, field} }
	for _, field := range slices.Sorted(maps.Keys(n.KubeletConfiguration)) {
		v.given(append(at("kubeletConfiguration"), field), field, ownKubeletFields, kubeletEquals)
	}
	v.flags(at("kubeletExtraArgs"), n.KubeletExtraArgs, ownKubeletFlags, kubeletEquals)
	v.flags(at("kubeProxyExtraArgs"), n.KubeProxyExtraArgs, ownProxyFlags, proxyEquals)
}

var flagForm = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

func (v *validator) flags(path []any, args []Arg, own []string, equals map[string]string) {
	for i, a := range args {
		at := append(slices.Clone(path), i)
		switch {
		case !flagForm.MatchString(a.Name):
			v.fail(append(at, "name"), "%q is not the name of a flag without its dashes, for example v", a.Name)
		case strings.ContainsFunc(a.Value, func(r rune) bool { return r < ' ' }):
			v.fail(append(at, "value"), "has a control character")
		default:
			v.given(at, a.Name, own, equals)
		}
	}
}

// given refuses what Mullion gives a program itself.
func (v *validator) given(path []any, name string, own []string, equals map[string]string) {
	switch other, equal := equals[name]; {
	case equal:
		v.fail(path, "%s is given by %s in cluster.yaml", name, other)
	case slices.Contains(own, name):
		v.fail(path, "%s is Mullion's to set: it reaches the program by that", name)
	}
}
