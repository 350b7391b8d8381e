package cri

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/image"
)

func TestSupportRowsAreComplete(t *testing.T) {
	rows := SupportRows()
	if err := support.Check(rows); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, r := range rows {
		named[r.Name] = true
	}

	for _, desc := range [][]string{
		methodsOf(runtimeapi.RuntimeService_ServiceDesc.Methods),
		methodsOf(runtimeapi.ImageService_ServiceDesc.Methods),
	} {
		for _, method := range desc {
			if !named[method] {
				t.Errorf("call %q has no row", method)
			}
		}
	}

	for _, streams := range []string{"GetContainerEvents", "StreamImages", "StreamContainers"} {
		if !named[streams] {
			t.Errorf("call %q has no row", streams)
		}
	}
}

func TestMergeEnv(t *testing.T) {
	got := mergeEnv([]string{"Path=C:\\a", "Color=red", "=C:=C:\\", "keep=1"}, []*runtimeapi.KeyValue{
		{Key: "COLOR", Value: []byte("blue")}, {Key: "new", Value: []byte("x=y")}, {Key: "NEW", Value: []byte("z")},
	})
	want := []string{"Path=C:\\a", "keep=1", "COLOR=blue", "NEW=z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestUnixEnvDoesNotSteerTheLoader(t *testing.T) {
	got := unixEnv([]string{"Path=C:\\a", "LD_PRELOAD=x", "wineprefix=/x", "A=1", "TMP=C:\\t", "Ld_Library_Path=/x"})
	want := []string{"WINEPATH=C:\\a", "A=1", "WINETMP=C:\\t"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestLookupUser(t *testing.T) {
	for name, want := range map[string]int{
		"ContainerUser": 1000, "CONTAINERADMINISTRATOR": 0, `User Manager\ContainerUser`: 1000, `.\ContainerUser`: 1000,
		`nt authority\system`: 0, "FooLish": -1, `DOMAIN\ContainerUser`: -1, "": -1,
	} {
		uid, err := lookupUser(name)
		if (err != nil) != (want < 0) || (err == nil && int(uid) != want) {
			t.Errorf("lookupUser(%q) = %d, %v, want %d", name, uid, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "The user name or password is incorrect. (0x52e)") {
			t.Errorf("lookupUser(%q): %v lacks Windows' words", name, err)
		}
	}
}

func TestUserNameOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	container := &runtimeapi.ContainerConfig{Windows: &runtimeapi.WindowsContainerConfig{
		SecurityContext: &runtimeapi.WindowsContainerSecurityContext{},
	}}
	pod := store.Sandbox{Config: store.SandboxConfig{PodSandboxConfig: &runtimeapi.PodSandboxConfig{}}}
	if got := userName(pod, container, ""); got != "ContainerAdministrator" {
		t.Errorf("default: %q", got)
	}

	if got := userName(pod, container, "ContainerUser"); got != "ContainerUser" {
		t.Errorf("image's: %q", got)
	}
	container.Windows.SecurityContext.RunAsUsername = "x"
	if got := userName(pod, container, "ContainerUser"); got != "x" {
		t.Errorf("container's: %q", got)
	}
}

func TestCommandLine(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		entrypoint, cmd        []string
		command, args          []string
		escaped, wantRaw, fail bool
		want                   []string
	}{
		{name: "image", entrypoint: []string{"e"}, cmd: []string{"c"}, want: []string{"e", "c"}},
		{
			name:       "args-replace-cmd",
			entrypoint: []string{"e"},
			cmd:        []string{"c"},
			args:       []string{"a"},
			want:       []string{"e", "a"},
		},
		{
			name:       "command-replaces-both",
			entrypoint: []string{"e"},
			cmd:        []string{"c"},
			command:    []string{"x"},
			want:       []string{"x"},
		},
		{name: "nothing", fail: true},
		{name: "empty-program", command: []string{""}, fail: true},
		{
			name:    "shell-form",
			cmd:     []string{`cmd /S /C "echo hi"`},
			escaped: true,
			wantRaw: true,
			want:    []string{`cmd /S /C "echo hi"`},
		},
		{name: "shell-form-replaced", cmd: []string{"x y"}, command: []string{"z"}, escaped: true, want: []string{"z"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			img := image.Info{Config: ocispec.ImageConfig{
				Entrypoint:  tc.entrypoint,
				Cmd:         tc.cmd,
				ArgsEscaped: tc.escaped, //nolint:staticcheck // Windows images have it.
			}}
			got, raw, err := commandLine(&runtimeapi.ContainerConfig{Command: tc.command, Args: tc.args}, img)
			if (err != nil) != tc.fail || raw != tc.wantRaw {
				t.Errorf("raw %v, error %v", raw, err)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("command line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseReport(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       report
	}{
		{name: "empty"},
		{name: "running", text: "started 32\n", want: report{started: true, pid: 32}},
		{
			name: "ended",
			text: "started 32\nexited 3221225477\n",
			want: report{
				started: true,
				pid:     32,
				exited:  true,
				code:    0xc0000005,
			},
		},
		{name: "half-a-line", text: "started 32\nexited 32212", want: report{started: true, pid: 32}},
		{
			name: "refused",
			text: "failed 2 The system cannot find the file specified.\n",
			want: report{
				failed:  true,
				code:    2,
				message: "The system cannot find the file specified.",
			},
		},
		{
			name: "taken-back",
			text: "started 32\nfailed 5 no\nstarted 33\nexited 7\n",
			want: report{
				started: true,
				pid:     32,
				exited:  true,
				code:    7,
			},
		},
		{
			name: "refused-and-started",
			text: "failed 5 no\nstarted 32\nfailed 6 yes\nexited 0\n",
			want: report{
				failed:  true,
				code:    5,
				message: "no",
			},
		},
		{name: "no-utf8", text: "failed 5 a\xff\xfeb\n", want: report{
			failed:  true,
			code:    5,
			message: "a\uFFFDb",
		}},
		{name: "nonsense", text: "exited 99999999999\nexited x\n\n \n", want: report{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := parseReport(tc.text); got != tc.want {
				t.Errorf("parseReport(%q) = %+v, want %+v", tc.text, got, tc.want)
			}
		})
	}
}

func TestCleanText(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 5000), "x" + strings.Repeat("ä", 5000), strings.Repeat("\xff ", 5000)} {
		got := cleanText(text)
		if !utf8.ValidString(got) || len(got) > maxText || len(got) < maxText-4 {
			t.Errorf("%d bytes of %.10q become %d", len(text), text, len(got))
		}
	}
	if got := cleanText("Zugriff verweigert: ä"); got != "Zugriff verweigert: ä" {
		t.Errorf("got %q", got)
	}
}

func TestReadReportTrustsNothing(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("exited 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link, fifo := filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}

	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, fifo, dir} {
		if r, err := readReport(path); err == nil {
			t.Errorf("readReport(%q) = %+v, want an error", filepath.Base(path), r)
		}
	}

	if r, err := readReport(filepath.Join(dir, "absent")); err != nil || r != (report{}) {
		t.Errorf("readReport of what is not there: %+v %v", r, err)
	}
}

func methodsOf(methods []grpc.MethodDesc) []string {
	var names []string
	for _, m := range methods {
		names = append(names, m.MethodName)
	}
	return names
}
