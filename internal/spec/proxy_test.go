package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/spec"
)

func TestProxyFrom(t *testing.T) {
	for _, tt := range []struct {
		name    string
		environ []string
		want    *spec.Proxy
		err     string
	}{
		{"none", []string{"PATH=/bin", "NO_PROXY=x"}, nil, ""},
		{
			"both names",
			[]string{"https_proxy=http://low:1", "HTTPS_PROXY=http://up:2", "http_proxy=plain:3", "no_proxy=.a,10.0.0.0/8"},
			&spec.Proxy{
				HTTPProxy:  "plain:3",
				HTTPSProxy: "http://up:2",
				NoProxy:    ".a,10.0.0.0/8",
			},
			"",
		},
		{"loopback", []string{"HTTP_PROXY=http://127.0.0.1:3128"}, nil, "127.0.0.1 is each node's own loopback address"},
		{"localhost", []string{"HTTPS_PROXY=localhost:3128"}, nil, "localhost is each node's own loopback address"},
		{"scheme", []string{"HTTPS_PROXY=ftp://x"}, nil, `"ftp" is none of http`},
		{"no URL", []string{"HTTPS_PROXY=http://user:secret@[x"}, nil, "it is not a URL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := spec.ProxyFrom(tt.environ)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}

			text := ""
			if err != nil {
				text = err.Error()
			}
			if tt.err == "" != (err == nil) || !strings.Contains(text, tt.err) || strings.Contains(text, "secret") {
				t.Errorf("the error is %q, want %q", text, tt.err)
			}
		})
	}
}

// TestProxyOnHost: a host's own proxy may be on its loopback address; what is wrong is said without its password.
func TestProxyOnHost(t *testing.T) {
	for _, tt := range []struct{ http, https, want, err string }{
		{"", "", "", ""},
		{"127.0.0.1:3128", "", "http://127.0.0.1:3128", ""},
		{"", "http://me:secret@localhost:1/", "http://localhost:1", ""},
		{"socks5://[::1]:1080", "https://p.example", "https://p.example and socks5://[::1]:1080", ""},
		{"gopher://secret@x", "", "", `"gopher" is none of http, https, socks5`},
		{"p.example", "http://:80", "", "it names no host"},
		{"http://u:secret@[::1", "", "", "it is not a URL"},
	} {
		got, err := spec.ProxyOnHost(tt.http, tt.https, "no")
		if tt.err != "" || err != nil {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q, %q: %v, want %q", tt.http, tt.https, err, tt.err)
			}
			continue
		}
		if got == nil {
			if tt.want != "" {
				t.Errorf("%q, %q: no proxy", tt.http, tt.https)
			}
			continue
		}
		if got.String() != tt.want || got.NoProxy != "no" {
			t.Errorf("%q, %q: %q, without it %q", tt.http, tt.https, got, got.NoProxy)
		}
	}
}

func TestWithoutProxy(t *testing.T) {
	got := spec.WithoutProxy([]string{"A=1", "https_proxy=x", "HTTP_PROXY=y", "No_Proxy=z", "ALL_PROXY=", "HTTP_PROXY_X=2"})
	if diff := cmp.Diff([]string{"A=1", "HTTP_PROXY_X=2"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPullEnviron(t *testing.T) {
	const head = "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nnodes: [{os: windows}]\n"
	load := func(text string) spec.Cluster {
		c, err := spec.Load(strings.NewReader(head + text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}

	for _, text := range []string{"", "proxy: {}\n", "proxy: {noProxy: x}\n"} {
		if got := load(text).PullEnviron(); got != nil {
			t.Errorf("%q gives %q, not nothing", text, got)
		}
		want := "localhost,127.0.0.0/8,::1,.svc,.cluster.local,10.213.0.0/24,10.244.0.0/16,10.96.0.0/16"
		if strings.Contains(text, "noProxy") {
			want = "x," + want
		}
		if got := load(text).PullDirect(); got != want {
			t.Errorf("%q: %q is reached directly, not %q", text, got, want)
		}
	}

	c := load("proxy: {httpsProxy: 'http://me:secret@proxy.example:3128', noProxy: '.corp, 192.0.2.0/24'}\n" +
		"networking: {podSubnet: '10.1.0.0/16,fd00:1::/56', serviceSubnet: '10.2.0.0/16,fd00:2::/112', " +
		"underlaySubnet: '10.3.0.0/24,fd00:3::/64'}\n")
	got := c.PullEnviron()
	want := []string{
		"HTTPS_PROXY=http://me:secret@proxy.example:3128",
		"NO_PROXY=.corp,192.0.2.0/24,localhost,127.0.0.0/8,::1,.svc,.cluster.local,10.3.0.0/24,fd00:3::/64,10.1.0.0/16," +
			"fd00:1::/56,10.2.0.0/16,fd00:2::/112",
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	if shown := c.Proxy.String(); shown != "http://proxy.example:3128" {
		t.Errorf("the proxy is shown as %q", shown)
	}
	if both := (spec.Proxy{HTTPProxy: "a:1", HTTPSProxy: "b:2"}).String(); both != "http://b:2 and http://a:1" {
		t.Errorf("two proxies are shown as %q", both)
	}

	for text, want := range map[string]string{
		"proxy: {httpProxy: 'http://localhost:1'}\n":   "line 4: proxy.httpProxy: localhost is each node's own loopback",
		"proxy: {httpsProxy: 'gopher://x'}\n":          `line 4: proxy.httpsProxy: "gopher" is none of http, https, socks5`,
		"proxy: {httpProxy: 'http://:80'}\n":           "line 4: proxy.httpProxy: it names no host",
		"proxy: {noProxy: \"a\\nb\"}\n":                "line 4: proxy.noProxy: has more than one line",
		"proxy: {http: x}\n":                           `unknown field "http" in proxy`,
		"proxy: {httpProxy: 'http://u:secret@[::1'}\n": "line 4: proxy.httpProxy: it is not a URL",
	} {
		_, err := spec.Load(strings.NewReader(head + text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
