package machines_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/spec"
)

// What other machines read has nothing of this machine's own: no nodes, and no proxy with its password.
func TestPublished(t *testing.T) {
	c := spec.Default(nil, false, "192.0.2.1")
	c.Proxy = &spec.Proxy{HTTPSProxy: "http://person:notforall@proxy.example:3128"}
	text, err := machines.Published(c)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "notforall") || strings.Contains(text, "linux-1") || !strings.Contains(text, "192.0.2.1") {
		t.Errorf("it is %s", text)
	}
	if c.Proxy == nil || len(c.Nodes) == 0 {
		t.Error("the description itself was changed")
	}
}
