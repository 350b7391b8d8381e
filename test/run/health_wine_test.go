//go:build wine

package run

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/single"
)

// health returns what is known of a container's health.
func (r *room) health(t *testing.T, name string) single.Health {
	t.Helper()
	var all []struct {
		State struct{ Health *single.Health }
	}
	got := r.container(t, "inspect", name)
	if err := json.Unmarshal([]byte(got.out), &all); err != nil || len(all) != 1 || all[0].State.Health == nil {
		t.Fatalf("inspect: %v: %+v", err, got)
	}
	return *all[0].State.Health
}

// becomes waits until a container's health is so.
func (r *room) becomes(t *testing.T, name, status string) single.Health {
	t.Helper()
	if !within(time.Minute, func() bool { return r.health(t, name).Status == status }) {
		t.Fatalf("%s is not %s: %+v", name, status, r.health(t, name))
	}
	return r.health(t, name)
}

const healthFile = "# escape=`\n" + `FROM mcr.microsoft.com/windows/nanoserver:ltsc2022
COPY prog.exe C:\
HEALTHCHECK --interval=500ms --retries=1 CMD type C:\ok.txt || exit 3
CMD ["C:\\prog.exe", "wait"]
`

// TestHealth asks containers for their health: as the image says, as a run says instead, and not at all. A check that
// takes too long is ended with what it has started.
func TestHealth(t *testing.T) {
	r := theRoom(t)
	const image = "mullion.local/health:1"
	r.built(t, image, healthFile)
	r.waiting(t, "--name", "sick", image)
	if h := r.becomes(t, "sick", "unhealthy"); h.FailingStreak < 1 || len(h.Log) == 0 || h.Log[0].ExitCode != 3 || h.Log[0].End.Before(h.Log[0].Start) {
		t.Errorf("%+v", h)
	}
	r.container(t, "exec", "sick", `C:\prog.exe`, "write", `C:\ok.txt`).is(t, "write", 0, "", "")
	if h := r.becomes(t, "sick", "healthy"); h.FailingStreak != 0 || !strings.Contains(h.Log[len(h.Log)-1].Output, "written") {
		t.Errorf("%+v", h)
	}
	if got := r.container(t, "ls", "-f", "health=healthy", "--format", "{{.Names}} {{.Status}}").out; !strings.HasPrefix(got, "sick Up ") ||
		!strings.HasSuffix(got, " (healthy)\n") {
		t.Errorf("ls: %q", got)
	}
	if got := r.container(t, "inspect", "-f", "{{.Config.Healthcheck.Test}}", "sick").out; got != "[CMD-SHELL type C:\\ok.txt || exit 3]\n" {
		t.Errorf("inspect: %q", got)
	}

	r.container(t, "restart", "sick").is(t, "restart", 0, "sick\n", "") // its C: is the image's again
	r.becomes(t, "sick", "unhealthy")
	r.container(t, "stop", "sick").is(t, "stop", 0, "sick\n", "")
	if h := r.health(t, "sick"); h.Status != "unhealthy" || len(h.Log) == 0 {
		t.Errorf("stopped: %+v", h)
	}

	r.waiting(t, "--name", "unasked", "--no-healthcheck", image)
	if got := r.container(t, "inspect", "-f", "{{.State.Health}}", "unasked").out; strings.Contains(got, "starting") {
		t.Errorf("it is asked: %q", got)
	}
	r.waiting(t, "--name", "slow", "--health-cmd", `"C:\app\prog.exe" wait`, "--health-interval", "300ms", "--health-timeout", "1s",
		"--health-retries", "2", r.program(), "wait")
	if h := r.becomes(t, "slow", "unhealthy"); h.Log[0].ExitCode != -1 || !strings.HasPrefix(h.Log[0].Output, "Health check exceeded timeout (1s)") {
		t.Errorf("%+v", h)
	}
	if top := r.container(t, "top", "slow").out; strings.Count(top, "prog.exe") > 2 { // its own, and at most one that is asking
		t.Errorf("checks are left:\n%s", top)
	}
	r.waiting(t, "--name", "absent", "--health-cmd", `none.exe`, "--health-interval", "300ms", "--health-retries", "1", r.program(), "wait")
	r.becomes(t, "absent", "unhealthy")
}
