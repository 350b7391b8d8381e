package spec_test

import (
	"encoding/json"
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

func TestRegistries(t *testing.T) {
	const head = "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nnodes: [{}]\nregistries:\n"
	for _, tt := range []struct{ name, text, err string }{
		{"whole", `  mirrors:
    docker.io: {endpoint: ["https://mirror.example:5000/hub", "http://second.example"]}
    "*": {endpoint: [https://all.example]}
  configs:
    mirror.example:5000: {auth: {username: me, password: s3cr3t}, tls: {caFile: /etc/ca.pem}}
    second.example: {auth: {auth: bWU6czNjcjN0}, tls: {insecureSkipVerify: true}}
    third.example: {auth: {identityToken: s3cr3t}}
`, ""},
		{"no mirror", "  mirrors: {docker.io: {endpoint: []}}\n", "registries.mirrors.docker.io: endpoint names no mirror"},
		{"a path for a host", "  mirrors: {../../etc: {endpoint: [https://x.example]}}\n", `"../../etc" is not the host of a registry`},
		{"dots for a host", "  configs: {'..': {}}\n", `".." is not the host of a registry`},
		{"a password in a URL", "  mirrors: {x: {endpoint: ['https://me:s3cr3t@x.example']}}\n", "they go into configs, auth"},
		{"no URL", "  mirrors: {x: {endpoint: ['https://me:s3cr3t@[x']}}\n", "it is not a URL"},
		{"no scheme", "  mirrors: {x: {endpoint: [mirror.example]}}\n", `"mirror.example" is not a URL such as`},
		{"loopback", "  mirrors: {x: {endpoint: ['http://localhost:5000']}}\n", "each node's own loopback address"},
		{"twice", "  mirrors: {x: {endpoint: ['http://m', 'http://n', 'http://m']}}\n", "endpoint[2]: it is named twice"},
		{"no password", "  configs: {x: {auth: {username: me}}}\n", "username and password belong together"},
		{"two kinds", "  configs: {x: {auth: {username: me, password: s3cr3t, identityToken: t}}}\n", "more than one of"},
		{"no base64", "  configs: {x: {auth: {auth: s3cr3t!}}}\n", "auth is not base64 of name:password"},
		{"relative file", "  configs: {x: {tls: {caFile: ca.pem}}}\n", `"ca.pem" is not the absolute path of a file`},
		{"any host's credentials", "  configs: {'*': {}}\n", `"*" is not the host of a registry`},
		{"k3s' spelling", "  configs: {x: {tls: {ca_file: /ca.pem}}}\n", `unknown field "ca_file" in registrytls`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := spec.Load(strings.NewReader(head + tt.text))
			text := ""
			if err != nil {
				text = err.Error()
			}
			if (tt.err == "") != (err == nil) || !strings.Contains(text, tt.err) || strings.Contains(text, "s3cr3t") {
				t.Fatalf("the error is %q, want %q", text, tt.err)
			}

			if err == nil {
				shown := c.Registries.WithoutPasswords()
				if b, err := json.Marshal(shown); err != nil || strings.Contains(string(b), "s3cr3t") ||
					strings.Contains(string(b), "bWU6") || !strings.Contains(string(b), "/etc/ca.pem") {
					t.Errorf("shown: %s, %v", b, err)
				}
			}
		})
	}
}
