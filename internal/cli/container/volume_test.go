package container

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/single"
)

func someVolumes() []single.Volume {
	return []single.Volume{
		{Name: "data", Labels: map[string]string{"team": "web", "a": "1"}, Mountpoint: "/v/data/_data", UsedBy: []string{"1"}},
		{Name: "0a", Labels: map[string]string{single.AnonymousLabel: ""}, Mountpoint: "/v/0a/_data"},
	}
}

// TestVolumeList prints volumes in Docker's columns and words.
func TestVolumeList(t *testing.T) {
	for name, tt := range map[string]struct {
		template, output string
		quiet            bool
		want             string
	}{
		"table":    {"", "text", false, "DRIVER    VOLUME NAME\nlocal     data\nlocal     0a\n"},
		"names":    {"", "text", true, "data\n0a\n"},
		"template": {`table {{.Name}}\t{{.Labels}}\t{{.Label "team"}}`, "text", false, "VOLUME NAME   LABELS                         team\ndata          a=1,team=web                   web\n0a            com.docker.volume.anonymous=   \n"},
		"lines": {"json", "text", false, `{"Availability":"N/A","Driver":"local","Group":"N/A","Labels":"a=1,team=web","Links":"N/A","Mountpoint":"/v/data/_data","Name":"data","Scope":"local","Size":"N/A","Status":"N/A"}
{"Availability":"N/A","Driver":"local","Group":"N/A","Labels":"com.docker.volume.anonymous=","Links":"N/A","Mountpoint":"/v/0a/_data","Name":"0a","Scope":"local","Size":"N/A","Status":"N/A"}
`},
	} {
		t.Run(name, func(t *testing.T) {
			show, err := dockerout.Parse(tt.template, "")
			if err != nil {
				t.Fatal(err)
			}

			var out bytes.Buffer
			if err := printVolumes(invoke.Env{Out: &out}, someVolumes(), show, tt.output, tt.quiet); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestVolumeFilter keeps those that fit, and refuses what is no filter.
func TestVolumeFilter(t *testing.T) {
	for text, want := range map[string]string{
		"": "data 0a", "dangling=true": "0a", "dangling=0": "data", "name=at": "data", "name=x name=0": "0a",
		"label=team": "data", "label=team=db": "", "label=team label=a=1": "data", "driver=local": "data 0a", "driver=x": "",
	} {
		fits, err := volumeFilter(strings.Fields(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, v := range someVolumes() {
			if fits(v) {
				got = append(got, v.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}

	for _, text := range []string{"dangling", "dangling=maybe", "size=1", "="} {
		if _, err := volumeFilter([]string{text}); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// TestVolumeCommands: where there has been no volume, no engine is started to say so; what is wrong is said in Docker's
// words, and with its codes.
func TestVolumeCommands(t *testing.T) {
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{NewVolume(r.Call)} }
	volume := func(args ...string) []string {
		return append([]string{"--data-dir", t.TempDir(), "volume"}, args...)
	}
	m.Run(volume("ls")...).Check(t, 0, "DRIVER    VOLUME NAME\n", "")
	m.Run(volume("ls", "-o", "json")...).Check(t, 0, "[]\n", "")
	m.Run(volume("prune", "-f")...).Check(t, 0, "Total reclaimed space: 0B\n", "")
	m.Run(volume("rm", "-f", "data")...).Check(t, 0, "data\n", "")
	m.Run(volume("rm", "data")...).Check(t, 1, "", "mullion: get data: no such volume\n")
	m.Run(volume("inspect", "../x")...).Check(t, 1, "[]\n", "mullion: get ../x: no such volume\n")
	m.Run(volume("rm")...).Has(t, 2, "mullion: `mullion volume rm` takes at least one VOLUME, got none")
	m.Run(volume("create", "-d", "nfs")...).Has(t, 2, "mullion: --driver nfs: there is local alone")
	m.Run(volume("prune", "--filter", "until=1h")...).Has(t, 2, "mullion: --filter: until is not for volumes")
	for _, wrong := range []string{"label=", "label", "name=x"} {
		m.Run(volume("prune", "--filter", wrong)...).Has(t, 2, "mullion: --filter: invalid ")
	}
	m.Run(volume("prune", "-f", "--filter", "label=a", "--filter", "label!=b")...).Check(t, 0, "Total reclaimed space: 0B\n", "")

	m.Env.Euid = 1000
	m.Run(volume("ls")...).Has(t, 3, "mullion: this needs root")
}

// TestHealthShown says how a container fares, in Docker's words.
func TestHealthShown(t *testing.T) {
	now := time.Now()
	c := containersAt(now)[1]
	for status, want := range map[string]string{
		single.Starting: "Up 2 minutes (health: starting)", single.Healthy: "Up 2 minutes (healthy)",
		single.Unhealthy: "Up 2 minutes (unhealthy)", "": "Up 2 minutes",
	} {
		c.Health = &single.Health{Status: status}
		if status == "" {
			c.Health = nil
		}
		if got := statusOf(c, now); got != want {
			t.Errorf("%q: %s", status, got)
		}

		f, err := parseFilters([]string{"health=" + map[bool]string{true: "none", false: status}[status == ""]})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.chosen([]single.Container{c}); err != nil || len(got) != 1 {
			t.Errorf("%q does not fit: %v", status, err)
		}
	}
	if _, err := parseFilters([]string{"health=fine"}); err == nil {
		t.Error("fine is taken")
	}
}
