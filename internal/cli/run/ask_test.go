package run

import (
	"debug/pe"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/wire"
	"mullion.dev/mullion/internal/windows/pefile/petest"
)

// newMachine returns a machine with these commands.
func newMachine(t *testing.T) *clitest.Machine {
	t.Helper()
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r.Call)} }
	return m
}

// parsed returns the flags of a command line, and what is left.
func parsed(t *testing.T, args ...string) (options, []string) {
	t.Helper()
	var o options
	cmd := New(&invoke.Call{})
	cmd.ResetFlags()
	o.flags(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return o, cmd.Flags().Args()
}

// TestRunAsk reads a command line with every flag.
func TestRunAsk(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("env", []byte("\ufeff# none\r\n\r\n  B=2 3 \r\nHERE\nNOT\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	o, rest := parsed(t, "-it", "--rm", "-e", "A=1=2", "-e", "NOT", "--env-file", "env", "-v", `.:C:\src:ro`,
		"-v", dir+`:d:/x`, "--mount", `type=bind,src=.,dst=C:\in,readonly`, "-v", `Data:E:`, "-v", `C:\own:ro`, "--mount",
		`src=data,target=C:\again,volume-nocopy`, "--health-cmd", "x y", "--health-retries", "2", "-q", "--platform", "windows/amd64",
		"-w", `C:\src`, "-u", "ContainerUser", "-m", "512m", "--cpus", "0.5", "-h", "box", "--entrypoint", "cmd", "--pull",
		"always", "--windows-version", "ltsc2022", "--stop-timeout", "3", "-p", "8080:80", "-p", "[::1]:53:53/UDP",
		"--dns", "192.0.2.53", "--name", "web", "-P", "--expose", "90-91", "-l", "team=web", "-l", "bare", "app:v1", "/c", "-v", "dir")

	a := &commands{&invoke.Call{Env: invoke.Env{Environ: []string{"HERE=here"}}}}
	got, err := a.ask(rest, o)
	if err != nil {
		t.Fatal(err)
	}

	want := single.Run{
		Image:      "app:v1",
		Pull:       single.PullAlways,
		Windows:    "ltsc2022",
		Entrypoint: []string{"cmd"},
		Args:       []string{"/c", "-v", "dir"},
		Env:        []string{"B=2 3 ", "HERE=here", "A=1=2"},
		Dir:        `C:\src`,
		User:       "ContainerUser",
		Hostname:   "box",
		Memory:     512 << 20,
		CPUs:       0.5,
		Mounts: []single.Mount{
			{Source: dir, Target: `C:\src`, ReadOnly: true},
			{Source: dir, Target: `d:/x`},
			{Volume: "data", Target: `E:`},
			{Target: `C:\own`, Anonymous: true, ReadOnly: true},
			{Source: dir, Target: `C:\in`, ReadOnly: true},
			{Volume: "data", Target: `C:\again`, NoCopy: true},
		},
		Terminal:    true,
		Stdin:       true,
		StopTimeout: 3 * time.Second,
		Network:     single.NAT,
		Ports: []nat.Port{
			{Addr: netip.MustParseAddr("127.0.0.1"), Host: 8080, Container: 80, Protocol: wire.TCP},
			{Addr: netip.MustParseAddr("::1"), Host: 53, Container: 53, Protocol: wire.UDP},
		},
		PublishAll: true,
		Expose:     []single.Exposed{{Port: 90, Protocol: wire.TCP}, {Port: 91, Protocol: wire.TCP}},
		Labels:     map[string]string{"team": "web", "bare": ""},
		DNS:        []netip.Addr{netip.MustParseAddr("192.0.2.53")},
		Health:     &single.HealthCheck{Test: []string{"CMD-SHELL", "x y"}, Retries: 2},
		Name:       "web",
	}

	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}

// TestRunProgram has a program of the machine, with its folder.
func TestRunProgram(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	program := petest.File{}.Bytes()
	if err := os.WriteFile("a b.EXE", program, 0o600); err != nil {
		t.Fatal(err)
	}

	o, rest := parsed(t, "a b.EXE", "x")
	got, err := (&commands{&invoke.Call{}}).ask(rest, o)
	if err != nil {
		t.Fatal(err)
	}
	mounts := []single.Mount{{Source: dir, Target: `C:\app`, ReadOnly: true}}
	if diff := cmp.Diff(mounts, got.Mounts); diff != "" {
		t.Error(diff)
	}

	if got.Image != "" || got.From != "a b.EXE" || !got.Keep || got.Dir != `C:\app` || cmp.Diff([]string{`C:\app\a b.EXE`}, got.Entrypoint) != "" {
		t.Errorf("asked for %+v", got)
	}
}

// TestRunRefuses holds what is refused before anything is made, with Docker's exit codes, and what is said to do.
func TestRunRefuses(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	t.Chdir(dir)
	for name, content := range map[string]string{
		"text.exe": "echo hello\n", "app/Dockerfile": "FROM scratch\n", "badenv": "=x\n", "arm.exe": string(petest.File{Machine: pe.IMAGE_FILE_MACHINE_ARM64}.Bytes()),
		"linux/image.yaml": "os: linux\nentrypoint: [/a]\n", "linux/a": "a",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, tc := range []struct {
		args string
		code int
		said string
	}{
		{"", 125, "`mullion run` takes IMAGE, FOLDER or FILE.exe, got none\n→ for example: mullion run ./hello.exe"},
		{"--gpus all app", 125, "--gpus: Windows containers have none\n→ leave it out"},
		{"--cap-add=NET_ADMIN app", 125, "--cap-add: Windows containers have none\n→ leave it out"},
		{"--privileged app", 125, "--privileged: Windows containers have none\n→ leave it out"},
		{"-p x app", 125, "--publish \"x\": \"x\" is no port, which is from 1 to 65535\n→ for example: -p 8080:80"},
		{"-p 0:80 app", 125, "--publish \"0:80\": \"0\" is no port, which is from 1 to 65535"},
		{"-p 80:65536 app", 125, "\"65536\" is no port, which is from 1 to 65535"},
		{"-p here:80:80 app", 125, "--publish \"here:80:80\": \"here\" is no address"},
		{"-p 80:80/sctp app", 125, "the protocol \"sctp\" is neither tcp nor udp"},
		{"-p 80-81:80-82 app", 125, "--publish \"80-81:80-82\": the ranges 80-81 and 80-82 are not as long"},
		{"-p 81-80:80 app", 125, "\"81-80\": the first port is after the last one"},
		{"--network none -P app", 125, "--publish leads into a network, and there is none with --network none"},
		{"--expose 80/sctp app", 125, "--expose: \"80/sctp\": the protocol \"sctp\" is neither tcp nor udp"},
		{"-l =x app", 125, "\"=x\" is no label\n→ for example: -l team=web"},
		{"--label-file none app", 125, "read labels: "},
		{"-v /tmp:C:\\a:ro,z app", 125, "the mode \"ro,z\" is neither ro nor rw"},
		{"--net bridge app", 125, "--network \"bridge\" is neither nat nor none"},
		{"--log-opt max-size=1m app", 125, "--log-opt: a single container does not have that yet\n→ a log keeps the last 20 to 30 MB"},
		{"-c 512 app", 125, "--cpu-shares: a single container does not have that yet\n→ --cpus limits processors"},
		{"-a stdout app", 125, "--attach: a single container does not have that yet\n→ standard output and error are passed on"},
		{"--dns here app", 125, "--dns \"here\" is no IPv4 address\n→ for example: --dns "},
		{"--dns 127.0.0.53 app", 125, "--dns 127.0.0.53: that is the container itself\n→ leave it out: "},
		{"--network none -p 80:80 app", 125, "--publish leads into a network, and there is none with --network none\n→ leave one of them out"},
		{"--network none --dns 192.0.2.1 app", 125, "--dns is asked by way of a network, and there is none"},
		{"--network host app", 125, "--network \"host\" is neither nat nor none\n→ "},
		{"--name x app", 125, "Invalid container name (x), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed"},
		{"--restart always app", 125, "--restart is for a container in the background: one in the foreground ends with its command\n→ add -d"},
		{"-d --rm --restart always app", 125, "conflicting options: cannot specify both --restart and --rm\n→ leave one of them out"},
		{"-d --restart often app", 125, "invalid restart policy: unknown policy 'often'; use one of 'no', 'always', 'on-failure', or 'unless-stopped'\n→ "},
		{"-d --restart always:3 app", 125, "invalid restart policy: maximum retry count can only be used with 'on-failure'\n→ "},
		{"-d --restart on-failure:x app", 125, "invalid restart policy: maximum retry count must be a number"},
		{"--isolation hyperv app", 125, "--isolation hyperv: a single container has no virtual machine yet\n→ "},
		{"--pull often app", 125, "--pull \"often\" is none of missing, always, never"},
		{"--windows-version 95 app", 125, "95"},
		{"--volumes a app", 125, "unknown flag: --volumes\n→ did you mean `--volume`? Otherwise see `mullion run --help`"},
		{"-m lots app", 125, "--memory \"lots\": "},
		{"-m 1k app", 125, "--memory \"1k\": the least is 6m\n→ for example: -m 512m"},
		{"--cpus -1 app", 125, "--cpus and --stop-timeout are not below 0"},
		{"-e =x app", 125, "\"=x\" is no variable\n→ for example: -e LOG=debug"},
		{"--env-file badenv app", 125, "\"=x\" is no variable\n→ for example: -e LOG=debug"},
		{"--env-file none app", 125, "read variables: "},
		{`-v /none:C:\x app`, 125, `--volume "/none:C:\\x": stat /none: no such file or directory`},
		{`-v ../x/y:C:\x app`, 125, "no such file or directory"},
		{`-v a/b:C:\x app`, 125, "includes invalid characters for a local volume name"},
		{`-v C:\src:C:\x app`, 125, "includes invalid characters for a local volume name"},
		{`-v nul:C:\x app`, 125, `volume name "nul" cannot be a reserved word for Windows filenames`},
		{`-v d:C:\x app`, 125, "volume name is too short"},
		{"-v " + strings.Repeat("x", 256) + `:C:\x app`, 125, "volume name is too long"},
		{`-v data:C:\x -v C:/X/ app`, 125, "Duplicate mount point: C:/X/\n→ leave one of them out"},
		{`-v C:\x:z app`, 125, "the mode \"z\" is neither ro nor rw"},
		{"--health-interval -1s app", 125, "--health-interval cannot be negative"},
		{"--health-retries -1 app", 125, "--health-retries cannot be negative"},
		{"--health-timeout 1us app", 125, "Timeout in Healthcheck cannot be less than 1ms"},
		{"--no-healthcheck --health-cmd x app", 125, "--no-healthcheck conflicts with --health-* options"},
		{"--cpus 4096 app", 125, "--cpus 4096: this machine has "},
		{"--platform linux/amd64 app", 125, "containers here are of Windows\n→ `docker run` runs those of Linux"},
		{"--platform windows/arm64 app", 125, "it is windows/amd64 alone"},
		{"--cidfile badenv app", 125, "--cidfile \"badenv\": the file is there already\n→ if its container has ended"},
		{"--cidfile none/id app", 125, "--cidfile: open none/id: no such file"},
		{`--mount type=tmpfs,target=C:\x app`, 125, "the type tmpfs is not there; bind and volume are"},
		{`--mount source=../data,target=C:\x app`, 125, "includes invalid characters for a local volume name"},
		{`--mount type=volume,source=data app`, 125, "it needs a target"},
		{`--mount type=bind,source=app,target=C:\x,volume-nocopy app`, 125, "volume-nocopy is for volumes"},
		{`--mount source=data,target=C:\x,volume-opt=size=1 app`, 125, "there is no \"volume-opt\" here"},
		{`--mount type=bind,source=app app`, 125, "it needs source and target"},
		{`--mount type=bind,source=none,target=C:\x app`, 125, "no such file or directory"},
		{`--mount type=bind,source=app,target=/x app`, 125, "a Windows path"},
		{`--mount type=bind,source=app,target=C:\x:ro app`, 125, "a Windows path"},
		{`--mount type=bind,source=app:C:\y,target=C:\x app`, 125, "no such file or directory"},
		{`--mount type=bind,source=app,target=C:\x,readonly=x app`, 125, "readonly is true or false"},
		{`--mount type=bind,source=app,target=C:\x,bind-propagation=shared app`, 125, "there is no \"bind-propagation\" here"},
		{`-v .:/x app`, 125, "it is no folder of this machine or name of a volume, a colon and a Windows path"},
		{`-v .:C:\x:z app`, 125, "the mode \"z\" is neither ro nor rw"},
		{"./none.exe", 127, "it is not there\n→ name a program, a folder that begins with a dot or a slash, or an image"},
		{"text.exe", 126, "it is no Windows program\n→ "},
		{"arm.exe", 126, "it is for ARM processors\n→ build it for amd64; with Go: GOOS=windows GOARCH=amd64"},
		{"./app", 125, "it has a Dockerfile\n→ build it: `mullion image build "},
		{"./linux", 125, "its image is for Linux\n→ `docker run` runs such images"},
		{"-it app", 125, "give the program a console: standard input is no terminal\n→ leave -t out, and pipe with -i alone"},
	} {
		got := m.Run(append([]string{"run"}, strings.Fields(tc.args)...)...)
		if got.Code != tc.code || !strings.Contains(got.Err, tc.said) || got.Out != "" {
			t.Errorf("%s: exit code %d, %s%s", tc.args, got.Code, got.Out, got.Err)
		}
	}

	m.Env.Euid = 1000
	m.Run("run", "app").Has(t, 125, "mullion: this needs root, as it makes containers")
}

// TestRunHelp holds that -h is the name of the container, as with docker, and that help is there all the same.
func TestRunHelp(t *testing.T) {
	got := newMachine(t).Run("run", "--help")
	for _, want := range []string{
		"mullion run -it mcr.microsoft.com", "-h, --hostname string", "mullion run [flags] IMAGE|FOLDER",
	} {
		if !strings.Contains(got.Out, want) {
			t.Errorf("the help lacks %q:\n%s", want, got.Out)
		}
	}
}

// TestPublish reads what `docker run -p` takes.
func TestPublish(t *testing.T) {
	loopback := netip.MustParseAddr("127.0.0.1")
	port := func(addr netip.Addr, host, last, container uint16, protocol wire.Protocol) nat.Port {
		return nat.Port{
			Addr:      addr,
			Host:      host,
			Last:      last,
			Container: container,
			Protocol:  protocol,
		}
	}

	for text, want := range map[string][]nat.Port{
		"8080:80":          {port(loopback, 8080, 0, 80, wire.TCP)},
		"80":               {port(loopback, 0, 0, 80, wire.TCP)},
		"80-81/udp":        {port(loopback, 0, 0, 80, wire.UDP), port(loopback, 0, 0, 81, wire.UDP)},
		"192.0.2.1::80":    {port(netip.MustParseAddr("192.0.2.1"), 0, 0, 80, wire.TCP)},
		"[::1]:53:53/UDP":  {port(netip.MustParseAddr("::1"), 53, 0, 53, wire.UDP)},
		"8000-8001:80-81":  {port(loopback, 8000, 0, 80, wire.TCP), port(loopback, 8001, 0, 81, wire.TCP)},
		"8000-8010:80":     {port(loopback, 8000, 8010, 80, wire.TCP)},
		"80-80:80":         {port(loopback, 80, 0, 80, wire.TCP)},
		"65534-65535:1-2":  {port(loopback, 65534, 0, 1, wire.TCP), port(loopback, 65535, 0, 2, wire.TCP)},
		"1-2:65534-65535":  {port(loopback, 1, 0, 65534, wire.TCP), port(loopback, 2, 0, 65535, wire.TCP)},
		"0.0.0.0:80:8080":  {port(netip.MustParseAddr("0.0.0.0"), 80, 0, 8080, wire.TCP)},
		"":                 nil,
		":80":              {port(loopback, 0, 0, 80, wire.TCP)},
		"80:":              nil,
		"1:2:3:4":          nil,
		"80-":              nil,
		"-80:80":           nil,
		"80-81:80":         {port(loopback, 80, 81, 80, wire.TCP)},
		"80:80-81":         nil,
		"1-65535:1-65535x": nil,
	} {
		got, err := portsOf(text)
		if (err != nil) != (want == nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		} else if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); err == nil && diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}

	if all, err := portsOf("1-65535:1-65535"); err != nil || len(all) != 65535 || all[65534].Host != 65535 {
		t.Errorf("all ports: %d, %v", len(all), err)
	}
}
