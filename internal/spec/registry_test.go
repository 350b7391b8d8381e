package spec_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestRegistry(t *testing.T) {
	const head = "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\n"
	for _, tt := range []struct{ name, text, host, err string }{
		{"none", "nodes: [{}]\n", "", ""},
		{"default", "registry: {}\nnodes: [{}]\n", "localhost:5001", ""},
		{"port", "registry: {port: 5005}\nnodes: [{}]\n", "localhost:5005", ""},
		{"low port", "registry:\n  port: 80\nnodes: [{}]\n", "", "line 4: registry.port: 80 is not a TCP port from 1024 to 65535"},
		{"negative port", "registry: {port: -1}\nnodes: [{}]\n", "", "registry.port: -1 is not"},
		{"high port", "registry: {port: 65536}\nnodes: [{}]\n", "", "registry.port: 65536 is not"},
		{"no port", "registry: {port: many}\nnodes: [{}]\n", "", "is not of type int"},
		{"unknown field", "registry: {host: here}\nnodes: [{}]\n", "", `unknown field "host" in registry`},
		{
			"several machines",
			"registry: {}\nnetworking: {advertiseAddress: 192.0.2.1, underlaySubnet: 10.213.0.0/16}\nnodes: [{}]\n",
			"", "registry: the nodes of other machines do not reach it",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := spec.Load(strings.NewReader(head + tt.text))
			text := ""
			if err != nil {
				text = err.Error()
			}
			if (tt.err == "") != (err == nil) || !strings.Contains(text, tt.err) {
				t.Fatalf("the error is %q, want %q", text, tt.err)
			}

			host := ""
			if c.Registry != nil {
				host = c.Registry.Host()
			}
			if host != tt.host {
				t.Errorf("the registry is %q, want %q", host, tt.host)
			}
		})
	}
}
