//go:build wine

package run

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDockerUser does what a script that knows Docker does with images and containers, and reads what it prints.
func TestDockerUser(t *testing.T) {
	r := theRoom(t)
	b := builder{r, filepath.Join(t.TempDir(), "cache")}
	dir := folderWith(t, "FROM mcr.microsoft.com/windows/servercore:ltsc2022\nENV LOG=info\nLABEL team=docker\nCOPY Dockerfile C:\\here.txt\nCMD [\"cmd\"]")
	b.must(t, "image", "build", dir, "-t", "mullion.local/user:v1", "--run")
	b.must(t, "image", "tag", "--run", "mullion.local/user:v1", "mullion.local/user:v2")

	says := func(want string, args ...string) {
		t.Helper()
		if got := strings.TrimSpace(b.must(t, args...)); got != want {
			t.Errorf("%v: %q, want %q", args, got, want)
		}
	}
	id := strings.Fields(b.must(t, "image", "ls", "--run", "-q", "--filter", "label=team=docker"))
	if len(id) != 2 || id[0] != id[1] || len(id[0]) != 12 {
		t.Fatalf("two names of one image are %q", id)
	}
	says("mullion.local/user:v1\nmullion.local/user:v2", "image", "ls", "--run", "--format", "{{.Repository}}:{{.Tag}}",
		"--filter", "reference=mullion.local/user")
	says("LOG=info 10.0.20348", "image", "inspect", "--run", "-f", `{{join .Config.Env ","}} {{truncate .OsVersion 10}}`, id[0])
	if got := b.must(t, "image", "history", "--run", id[0]); !strings.Contains(got, "COPY Dockerfile") {
		t.Errorf("its steps: %s", got)
	}

	name := r.waiting(t, "--name", "of-user", "--label", "of=docker", "--entrypoint", "cmd", "mullion.local/user:v1", "/c",
		"echo waiting& ping -n 900 127.0.0.1 >nul")
	address := strings.TrimSpace(b.must(t, "container", "inspect", "-f", "{{.NetworkSettings.Networks.nat.IPAddress}}", name))
	if addr, err := netip.ParseAddr(address); err != nil || !addr.IsPrivate() {
		t.Errorf("its address is %q", address)
	}
	if out, err := b.run(t, "container", "cp", "of-user:C:\\here.txt", "-"); err == nil || !strings.Contains(out, "tar -cf -") {
		t.Errorf("cp to -: %v, %s", err, out)
	}
	file := filepath.Join(t.TempDir(), "there.txt")
	b.must(t, "container", "cp", "of-user:here.txt", file) // from the root on
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "LABEL team=docker") {
		t.Errorf("%q, %v", text, err)
	}

	// What containers have is not pruned, and a name goes alone.
	b.must(t, "image", "prune", "--run", "-af", "--filter", "label=team=docker")
	if out := b.must(t, "image", "rm", "--run", "mullion.local/user:v2"); !strings.Contains(out, "the image still is mullion.local/user:v1") {
		t.Error(out)
	}
	b.must(t, "container", "stop", "--time", "1", "of-user")
	b.must(t, "container", "prune", "-f", "--filter", "label=of=other")

	// Another image of its name is not its own.
	other := folderWith(t, "FROM mcr.microsoft.com/windows/servercore:ltsc2022\nENV LOG=other\nLABEL team=docker\nCMD [\"cmd\"]")
	b.must(t, "image", "build", other, "-t", "mullion.local/user:v1", "--run")
	b.must(t, "container", "start", "of-user")
	b.must(t, "container", "cp", "of-user:here.txt", filepath.Join(t.TempDir(), "again.txt"))
	if env := b.must(t, "container", "inspect", "-f", `{{join .Config.Env ","}}`, "of-user"); !strings.Contains(env, "LOG=info") {
		t.Errorf("begun anew it has %s", env)
	}
	b.must(t, "container", "stop", "--time", "1", "of-user")
	says("of-user", "container", "ls", "-a", "--filter", "label=of=docker", "--format", "{{.Names}}")
	if out := b.must(t, "container", "prune", "-f", "--filter", "label=of=docker", "--filter", "until=1ms"); !strings.Contains(out, "Deleted Containers:\n") {
		t.Error(out)
	}
	if out := b.must(t, "image", "prune", "--run", "-af", "--filter", "label=team=docker"); !strings.Contains(out, "untagged: mullion.local/user:v1\n") {
		t.Error(out)
	}
	says("", "image", "ls", "--run", "-q", "--filter", "label=team=docker")
}
