package container

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// newMachine returns a machine with these commands.
func newMachine(t *testing.T) *clitest.Machine {
	t.Helper()
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r.Call)} }
	return m
}

// containersAt returns a container of each state at a time.
func containersAt(now time.Time) []single.Container {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	return []single.Container{
		{
			ID: strings.Repeat("a", 64), Name: "made", Created: ago(time.Second),
			Run: single.Run{
				Image: "app:v1",
				Args:  []string{"serve"},
				Keep:  true,
			},
		},
		{
			ID: strings.Repeat("b", 64), Name: "web", Created: ago(3 * time.Minute), Started: ago(2 * time.Minute),
			Args: []string{`C:\app\server.exe`, "-port", "80"}, Env: []string{"A=b"}, Dir: `C:\app`, User: "ContainerUser",
			Run: single.Run{
				From: "./server.exe", Entrypoint: []string{`C:\app\server.exe`}, Args: []string{"-port", "80"},
				Mounts: []single.Mount{{Source: "/srv", Target: `C:\app`, ReadOnly: true}}, StopTimeout: 10 * time.Second,
				Memory: 1 << 20, CPUs: 1.5, Hostname: "box",
			},
			Log: "/logs/b.log", Labels: map[string]string{"team": "web", "a": "1"},
			Address: netip.MustParseAddr("172.16.0.2"),
			Ports: []nat.Port{
				{Addr: single.Loopback(), Host: 8001, Container: 81, Protocol: wire.TCP},
				{Addr: single.Loopback(), Host: 8000, Container: 80, Protocol: wire.TCP},
				{Addr: single.Loopback(), Host: 53, Container: 53, Protocol: wire.UDP},
			},
		},
		{
			ID: strings.Repeat("c", 64), Name: "job", Created: ago(50 * time.Hour), Started: ago(50 * time.Hour),
			Finished: ago(49 * time.Hour), End: single.End{Code: 0xC0000005}, Why: "why", Args: []string{"a\x1b\"b"},
			Run: single.Run{Image: "app:v1", Keep: true},
		},
	}
}

// TestContainerList prints containers in Docker's columns and words; what a program is called is no terminal's escape.
func TestContainerList(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		o    listOptions
		want string
	}{
		"running": {listOptions{quiet: true}, "bbbbbbbbbbbb\n"},
		"table": {listOptions{all: true}, `CONTAINER ID   IMAGE          COMMAND                    CREATED         STATUS                           PORTS                                                  NAMES
aaaaaaaaaaaa   app:v1         "serve"                    1 second ago    Created                                                                                 made
bbbbbbbbbbbb   ./server.exe   "C:\\app\\server.exe -…"   3 minutes ago   Up 2 minutes                     127.0.0.1:8000-8001->80-81/tcp, 127.0.0.1:53->53/udp   web
cccccccccccc   app:v1         "a\x1b\"b"                 2 days ago      Exited (3221225477) 2 days ago                                                          job
`},
		"ids": {listOptions{quiet: true, all: true}, "aaaaaaaaaaaa\nbbbbbbbbbbbb\ncccccccccccc\n"},
		"whole ids": {
			listOptions{
				quiet: true,
				whole: true,
				all:   true,
			},
			strings.Repeat("a", 64) + "\n" + strings.Repeat("b", 64) + "\n" + strings.Repeat("c", 64) + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := tc.o.print(invoke.Env{Out: &out}, containersAt(now), now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}

	var out bytes.Buffer
	if err := (listOptions{output: "json"}).print(invoke.Env{Out: &out}, containersAt(now)[1:2], now); err != nil {
		t.Fatal(err)
	}
	want := `[{"ID":"` + strings.Repeat("b", 64) + `","Image":"./server.exe","Command":"\"C:\\\\app\\\\server.exe -port 80\"",` +
		`"CreatedAt":"2026-01-02T03:01:05Z","RunningFor":"3 minutes ago","State":"running","Status":"Up 2 minutes",` +
		`"Ports":"127.0.0.1:8000-8001->80-81/tcp, 127.0.0.1:53->53/udp","Names":"web","Labels":"a=1,team=web",` +
		`"Mounts":"/srv","Networks":"nat"}]` + "\n"

	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := (listOptions{output: "json"}).print(invoke.Env{Out: &out}, nil, now); err != nil || out.String() != "[]\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

// TestContainerInspect says what is known by Docker's names.
func TestContainerInspect(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all := containersAt(now)
	got := inspect(all[1])
	want := inspected{
		ID: all[1].ID, Created: all[1].Created, Path: `C:\app\server.exe`, Args: []string{"-port", "80"},
		State: inspectedState{
			Status:    "running",
			Running:   true,
			StartedAt: all[1].Started,
		},
		Image:   "./server.exe",
		LogPath: "/logs/b.log", Name: "/web", Platform: "windows",
		Mounts: []inspectedMount{{Type: "bind", Source: "/srv", Destination: `C:\app`, Mode: "ro"}},
		HostConfig: inspectedHost{
			NetworkMode: "nat", PortBindings: map[string][]inspectedPort{
				"80/tcp": {{"127.0.0.1", "8000"}}, "81/tcp": {{"127.0.0.1", "8001"}}, "53/udp": {{"127.0.0.1", "53"}},
			}, Isolation: "process", AutoRemove: true, RestartPolicy: inspectedRestart{Name: "no"},
			Memory: 1 << 20, NanoCpus: 1_500_000_000,
		},
		Config: inspectedConfig{
			Hostname: "box", User: "ContainerUser", Env: []string{"A=b"}, Cmd: []string{"-port", "80"}, Image: "./server.exe",
			WorkingDir: `C:\app`, Entrypoint: []string{`C:\app\server.exe`}, StopTimeout: 10,
			Labels: map[string]string{"team": "web", "a": "1"},
		},
	}
	want.NetworkSettings.Ports = want.HostConfig.PortBindings
	want.NetworkSettings.IPAddress = "172.16.0.2"
	want.NetworkSettings.Networks = map[string]inspectedNetwork{"nat": {"172.16.0.2"}}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	ended := all[1]
	ended.Finished = now
	if n := inspect(ended).NetworkSettings; n.IPAddress != "" || len(n.Ports) != 0 { // it had them
		t.Errorf("of one that has ended: %+v", n)
	}
	if s := inspect(all[2]).State; s.Status != "exited" || s.ExitCode != 0xC0000005 || s.Error != "why" || s.Running {
		t.Errorf("%+v", s)
	}
}

// TestInspectPrintable: what an image's maker wrote draws nothing on a terminal, and a script gets it as it is.
func TestInspectPrintable(t *testing.T) {
	show, err := dockerout.Parse("{{.Config.WorkingDir}}", "")
	if err != nil {
		t.Fatal(err)
	}

	found := []inspected{{Config: inspectedConfig{WorkingDir: "C:\\\x1b[2J"}}}
	for terminal, want := range map[bool]string{true: "C:\\·[2J\n", false: "C:\\\x1b[2J\n"} {
		var out bytes.Buffer
		a := &commands{&invoke.Call{Env: invoke.Env{Out: &out, Terminal: terminal}}}
		if err := dockerout.Each(a.Env, found, show); err != nil || out.String() != want {
			t.Errorf("%v: %q, %v", terminal, &out, err)
		}

		out.Reset()
		found := []inspected{{Name: "\u009b2J"}} // JSON has only the oldest of the escapes as text
		err := dockerout.Each(a.Env, found, &dockerout.Format{})
		if err != nil || strings.Contains(out.String(), "\u009b") == terminal {
			t.Errorf("as JSON, %v: %q, %v", terminal, &out, err)
		}
	}
}

// TestInspectByJSON: a field is found by the name that it has in JSON, too, as with Docker.
func TestInspectByJSON(t *testing.T) {
	one := inspect(containersAt(time.Now())[1])
	for template, want := range map[string]string{
		"{{.Id}}": one.ID, "{{.ID}}": one.ID, "{{.HostConfig.Memory}} {{.Id}}": "1048576 " + one.ID, "{{.Config.Labels.team}}": "web",
		`{{(index (index .HostConfig.PortBindings "80/tcp") 0).HostPort}}`: "8000", "{{.Nothing}}": "", "{{.Config.Labels.none}}": "",
		"{{json .Config.Cmd}}": `["-port","80"]`,
	} {
		f, err := dockerout.Parse(template, "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Line(invoke.Env{}, one)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", template, got, err, want)
		}
	}
}

// TestTail reads --tail.
func TestTail(t *testing.T) {
	for text, want := range map[string]int{"all": -1, "0": 0, "20": 20, "-5": -1} {
		if got, err := tailOf(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}

	if _, err := tailOf("many"); exit.Code(err) != exit.Usage {
		t.Error(err)
	}
}

func TestSignalNamed(t *testing.T) {
	for name, want := range map[string]single.Signal{
		"KILL": single.Kill, "sigkill": single.Kill, "9": single.Kill,
		"INT": single.Interrupt, "SIGTERM": single.Stop, "15": single.Stop,
	} {
		if got, err := signalNamed(name); got != want || err != nil {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "HUP", "1", "KILLER"} {
		if _, err := signalNamed(name); exit.Code(err) != exit.Usage {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestContainerRefuses holds what is refused before an engine is asked, and that where none is nothing is begun.
func TestContainerRefuses(t *testing.T) {
	m := newMachine(t)
	data := []string{"--data-dir", filepath.Join(filepath.Dir(m.Paths.Data), "run")}
	for _, tc := range []struct {
		args string
		code int
		said string
	}{
		{"stop", 2, "mullion: `mullion container stop` takes at least one CONTAINER, got none\n→ `mullion container ls -a` lists"},
		{"logs", 2, "mullion: `mullion container logs` takes CONTAINER, got 0"},
		{"logs a b", 2, "mullion: `mullion container logs` takes CONTAINER, got 2"},
		{"logs --tail few web", 2, `mullion: --tail "few" is neither a number nor all`},
		{"logs --since then web", 2, `mullion: --since "then" is no time`},
		{"logs --until then web", 2, `mullion: --until "then" is no time`},
		{"exec -d -t web cmd", 2, "mullion: -i and -t are for somebody who is there, and -d leaves"},
		{"exec -d web cmd", 1, "mullion: No such container: web\n"},
		{"ls --filter name", 2, `mullion: --filter: invalid argument "name": want KEY=VALUE`},
		{"ls -f size=1", 2, "mullion: --filter: invalid filter 'size'"},
		{"ls -f status=up", 2, "mullion: --filter: invalid filter 'status=up'"},
		{"ls -f exited=x", 2, "mullion: --filter: "},
		{"ls -f before=web", 1, "mullion: No such container: web\n"},
		{"ls --format {{.None", 2, "mullion: --format: "},
		{"ls --format {{.Names}} -o json", 2, "mullion: --format and -o json are two forms"},
		{"port", 2, "mullion: `mullion container port` takes CONTAINER, got 0"},
		{"port web 80/sctp", 2, "mullion: \"80/sctp\": the protocol \"sctp\" is neither tcp nor udp"},
		{"port web", 1, "mullion: No such container: web\n"},
		{"rename web", 2, "mullion: `mullion container rename` takes CONTAINER and NAME, got 1"},
		{"rename web db", 1, "mullion: No such container: web\n"},
		{"start", 2, "mullion: `mullion container start` takes at least one CONTAINER, got none"},
		{"start web", 1, "mullion: No such container: web\n"},
		{"restart web", 1, "mullion: No such container: web\n"},
		{"stats web", 1, "mullion: No such container: web\n"},
		{"kill -s HUP web", 2, "mullion: invalid signal: HUP"},
		{"exec web", 2, "mullion: `mullion container exec` takes CONTAINER and PROGRAM"},
		{"exec -it web cmd", 125, "mullion: give the program a console: standard input is no terminal"},
		{"exec -e =x web cmd", 125, `mullion: "=x" is no variable`},
		{"inspect -f {{.State web", 2, "mullion: --format: "},
		{"logs web", 1, "mullion: No such container: web\n"},
		{"stop --time 3 web", 1, "mullion: No such container: web\n"},
		{"restart --time=3 web", 1, "mullion: No such container: web\n"},
		{"cp web:C:/a -", 2, "mullion: - stands for an archive with Docker, and not here\n→ the container's tar does it"},
		{"cp - web:C:/a", 2, "mullion: - stands for an archive with Docker, and not here\n"},
		{"inspect --type image app", 2, "mullion: --type \"image\": containers are looked at here\n→ `mullion image inspect`"},
		{"inspect --type container web", 1, "mullion: No such container: web\n"},
		{"prune -f --filter until", 2, `mullion: --filter: invalid argument "until": want KEY=VALUE`},
		{"prune -f --filter until=then", 2, `mullion: --filter until "then" is no time`},
		{"prune -f --filter name=web", 2, "mullion: --filter: invalid filter 'name'\n→ there are until, label and label!"},
		{"stop web db", 1, "mullion: No such container: web\nmullion: No such container: db\n"},
		{"wait web", 1, "mullion: No such container: web\n"},
		{"rm -f web", 1, "mullion: No such container: web\n"},
		{"inspect web", 1, "mullion: No such container: web\n"},
		{"update web", 2, "mullion: `mullion container update`: Docker has no update for Windows containers\n→ run it again"},
		{"commit -m x web", 2, "mullion: `mullion container commit`: what a container has written to its C: goes with its program\n→ "},
		{"attach web", 1, "mullion: No such container: web\n"},
		{"top web", 1, "mullion: No such container: web\n"},
		{"top", 2, "mullion: `mullion container top` takes CONTAINER\n"},
		{"publish web", 2, "mullion: `mullion container` has no command \"publish\""},
	} {
		args := append([]string{"container"}, strings.Fields(tc.args)...)
		got := m.Run(append(append([]string{}, data...), args...)...)
		if got.Code != tc.code || !strings.HasPrefix(got.Err, tc.said) {
			t.Errorf("%s: exit code %d, %s%s", tc.args, got.Code, got.Out, got.Err)
		}
	}

	ls := func(more ...string) []string {
		return append(append(append([]string{}, data...), "container", "ls"), more...)
	}
	m.Run(ls()...).Check(t, 0, "CONTAINER ID   IMAGE     COMMAND   CREATED   STATUS    PORTS     NAMES\n", "")
	m.Run(ls("-o", "json")...).Check(t, 0, "[]\n", "")
	m.Run(append(data, "container", "prune", "-f")...).Check(t, 0, "Total reclaimed space: 0B\n", "")
	m.Run(append(data, "container", "prune", "-f", "--filter", "label!=a=b")...).Check(t, 0, "Total reclaimed space: 0B\n", "")
	m.Env.In = strings.NewReader("n\n")
	m.Run(append(data, "container", "prune")...).Check(t, 0,
		"WARNING! This will remove all stopped containers.\nAre you sure you want to continue? [y/N] ", "")

	if _, err := os.Stat(data[1]); err == nil {
		t.Error("to look for containers has made a folder")
	}
	m.Env.Euid = 1000
	m.Run("container", "ls").Has(t, 3, "mullion: this needs root, as it asks the engine of single containers")
}

// TestContainerCompletion completes the names of containers, without an engine: of those that a command is for, and of
// those that are not yet named.
func TestContainerCompletion(t *testing.T) {
	m := newMachine(t)
	data := filepath.Join(filepath.Dir(m.Paths.Data), "run")
	known, err := store.Open[single.Container](filepath.Join(data, "containers"))
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range containersAt(time.Now()) {
		if err := known.Put(c.ID, c); err != nil {
			t.Fatal(err)
		}
	}

	for line, want := range map[string]string{
		"logs ": "made web job", "logs web ": "", "stop ": "web", "exec ": "web",
		"rm ": "made web job", "rm web ": "made job",
		"start ": "job", "port ": "web", "stats ": "web", "rename ": "made web job",
		"inspect ": "made web job", "cp ": "web", "cp web:/a .": "",
	} {
		args := append([]string{"__complete", "--data-dir", data, "container"}, strings.Split(line, " ")...)
		got := m.Run(args...)
		names, _, _ := strings.Cut(got.Out, ":")
		if strings.Join(strings.Fields(names), " ") != want {
			t.Errorf("%s: %q, want %s", line, got.Out, want)
		}
	}
}
