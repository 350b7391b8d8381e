package hcs

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
)

// document returns a compute system of the test's layers. changes are put into it.
func (h *host) document(t *testing.T, changes map[string]any) string {
	t.Helper()
	doc := map[string]any{
		"Owner":         "test",
		"SchemaVersion": map[string]int{"Major": 2, "Minor": 1},
		"Container": map[string]any{
			"GuestOs":    map[string]string{"HostName": "box"},
			"Storage":    map[string]any{"Layers": []any{map[string]string{"Id": "x", "Path": baseLayer}}, "Path": h.volume},
			"Networking": map[string]any{"Namespace": "known", "DnsSearchList": "a.test,b.test"},
			"Memory":     map[string]int{"SizeInMB": 64},
		},
	}

	for path, value := range changes {
		at := doc
		names := strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			at = at[name].(map[string]any)
		}
		at[names[len(names)-1]] = value
	}

	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const allStreams = `{"CommandLine":"x.exe a b","CreateStdInPipe":true,"CreateStdOutPipe":true,"CreateStdErrPipe":true,` +
	`"WorkingDirectory":"/app","Environment":{"A":"1"}}`

// TestLife leads a compute system through its life: two processes, their streams, events, and the end.
func TestLife(t *testing.T) {
	h := newHost(t)
	system := h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.refused(t, AlreadyExists, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.refused(t, InvalidState, "HcsCreateProcess", "c1", allStreams)
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.refused(t, InvalidState, "HcsStartComputeSystem", "c1")

	first := h.ok(t, "HcsCreateProcess", "c1", allStreams)
	if first.Process.Streams != 7 {
		t.Errorf("the first process has the streams %b", first.Process.Streams)
	}
	pid := strconv.Itoa(int(first.Process.PID))
	spec := h.engine.Created[0]
	if spec.Hostname != "box" || spec.NetNS != "/ns" || spec.Resources.MemoryLimit != 64<<20 || len(spec.Layers) != 1 {
		t.Errorf("the container is %+v", spec)
	}

	args := strings.Join(spec.Args, " ")
	for _, want := range []string{"/init --settle -- wine", `--cwd C:\app`, "--raw -- x.exe a b", "--memory-limit 67108864", "a.test,b.test"} {
		if !strings.Contains(args, want) {
			t.Errorf("PID 1 is %q, without %q", args, want)
		}
	}

	// Another process: what is written to its input comes out of its output.
	second := h.ok(t, "HcsCreateProcess", "c1", allStreams)
	other := strconv.Itoa(int(second.Process.PID))
	input, output := h.connect(t, other, "0"), h.connect(t, other, "1")
	if _, err := io.WriteString(input, "through"); err != nil {
		t.Fatal(err)
	}

	h.ok(t, "HcsModifyProcess", "c1", other, `{"Operation":"CloseHandle","CloseHandle":{"Handle":"StdIn"}}`)
	if text, err := io.ReadAll(output); string(text) != "through" || err != nil {
		t.Errorf("the output is %q, %v", text, err)
	}
	e := event(t, second.Events)
	want := Event{Type: ProcessExited, Text: `{"ProcessId":` + other + `,"Exited":true,"ExitCode":519,"LastWaitResult":0}`}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("the second process' event (-want +got):\n%s", diff)
	}

	h.refused(t, ProcessStopped, "HcsTerminateProcess", "c1", other)

	// The end: the first process gets the control event.
	out := h.connect(t, pid, "1")
	h.ok(t, "HcsShutDownComputeSystem", "c1")
	if e := event(t, first.Events); !strings.Contains(e.Text, `"ExitCode":3221225786`) {
		t.Errorf("the first process' event: %+v", e)
	}
	if text, err := io.ReadAll(out); string(text) != "hello" || err != nil {
		t.Errorf("the first process' output is %q, %v", text, err)
	}

	if e := event(t, system.Events); e.Type != SystemExited || !strings.Contains(e.Text, "GracefulExit") {
		t.Errorf("the system's event: %+v", e)
	}
	h.refused(t, NotFound, "HcsOpenComputeSystem", "c1")
	if left, err := os.ReadDir(h.cfg.RunDir); len(left) > 0 || err != nil {
		t.Errorf("left of the compute system: %v, %v", left, err)
	}
	h.ok(t, "DeactivateLayer", scratchPath)
}

// connect connects to a stream of a process of c1.
func (h *host) connect(t *testing.T, pid, number string) net.Conn {
	t.Helper()
	client, serve := h.promise(t, pid, number)
	go serve()
	return client
}

// promise returns a connection to a stream of a process of c1, which the service has promised and does not have until
// serve is called.
func (h *host) promise(t *testing.T, pid, number string) (_ net.Conn, serve func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	stream := h.ok(t, StreamFunction, "c1", pid, number).Stream
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, func() {
		stream(t.Context(), server, nil)
		_ = server.Close()
	}
}

// filled connects the input and the output of a process, and returns when all that is between the two ends is full.
func (h *host) filled(t *testing.T, pid string) (input, output net.Conn) {
	t.Helper()
	input, output = h.connect(t, pid, "0"), h.connect(t, pid, "1")
	var sent atomic.Int64
	go func() {
		for part := make([]byte, 1<<16); ; {
			n, err := input.Write(part)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	soon(t, "the output is full", func() bool {
		before := sent.Load()
		time.Sleep(200 * time.Millisecond)
		return before > 0 && sent.Load() == before
	})
	return input, output
}

// TestSlowReader: the engine is told to forget a process that has ended when who reads its output has taken it, however
// long that takes, and not before: it drops the rest then.
func TestSlowReader(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.ok(t, "HcsCreateProcess", "c1", allStreams)
	later := h.ok(t, "HcsCreateProcess", "c1", allStreams)
	pid := strconv.Itoa(int(later.Process.PID))
	input, output := h.filled(t, pid)

	h.ok(t, "HcsTerminateProcess", "c1", pid)
	event(t, later.Events)
	time.Sleep(2 * time.Second)
	if got := h.engine.Forgotten(); len(got) > 0 {
		t.Errorf("%q are forgotten while their output waits for its reader", got)
	}

	_ = input.Close() // the engine of the test goes on copying
	go func() { _, _ = io.Copy(io.Discard, output) }()
	soon(t, "the process is forgotten", func() bool { return len(h.engine.Forgotten()) == 1 })
}

// TestConnectAfterTheEnd: what a process has written comes on a connection that the service gets when the process has
// ended, and even its compute system.
func TestConnectAfterTheEnd(t *testing.T) {
	h := newHost(t)
	system := h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	first := h.ok(t, "HcsCreateProcess", "c1", allStreams)
	later := h.ok(t, "HcsCreateProcess", "c1", allStreams)
	pid, other := strconv.Itoa(int(first.Process.PID)), strconv.Itoa(int(later.Process.PID))
	expect := func(out net.Conn, want string) {
		t.Helper()
		if text, err := io.ReadAll(out); string(text) != want || err != nil {
			t.Errorf("the output is %q, %v, want %q", text, err, want)
		}
	}

	input := h.connect(t, other, "0")
	if _, err := io.WriteString(input, "through"); err != nil {
		t.Fatal(err)
	}

	h.ok(t, "HcsModifyProcess", "c1", other, `{"Operation":"CloseHandle","CloseHandle":{"Handle":"StdIn"}}`)
	event(t, later.Events)
	c, err := h.find("c1")
	if err != nil {
		t.Fatal(err)
	}

	ended, err := c.process(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := ended.streams.letGo(t.Context()); err != nil { // as its end does, at the latest now
		t.Fatal(err)
	}
	expect(h.connect(t, other, "1"), "through")

	out, serve := h.promise(t, pid, "1")
	h.ok(t, "HcsTerminateComputeSystem", "c1")
	event(t, system.Events)
	serve()
	expect(out, "hello")
}

// TestKill kills processes: a later one, and the first.
func TestKill(t *testing.T) {
	h := newHost(t)
	system := h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	first := h.ok(t, "HcsCreateProcess", "c1", `{"CommandLine":"x.exe"}`)
	later := h.ok(t, "HcsCreateProcess", "c1", `{"CommandLine":"y.exe"}`)
	h.refused(t, NotImplemented, "HcsSignalProcess", "c1", strconv.Itoa(int(later.Process.PID)), `{"Signal":"CtrlC"}`)
	for _, p := range []Answer{later, first} {
		h.ok(t, "HcsTerminateProcess", "c1", strconv.Itoa(int(p.Process.PID)))
		if e := event(t, p.Events); !strings.Contains(e.Text, `"ExitCode":1067`) {
			t.Errorf("the event of process %d: %+v", p.Process.PID, e)
		}
	}

	h.refused(t, InvalidState, "HcsCreateProcess", "c1", `{"CommandLine":"z.exe"}`)
	h.ok(t, "HcsTerminateComputeSystem", "c1")
	if e := event(t, system.Events); !strings.Contains(e.Text, "ForcedExit") {
		t.Errorf("the system's event: %+v", e)
	}
}

// TestRestart: a compute system, its processes, their streams and their events outlive the service.
func TestRestart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	doc := h.document(t, map[string]any{"ShouldTerminateOnLastHandleClosed": true})
	system := h.ok(t, "HcsCreateComputeSystem", "c1", doc)
	h.ok(t, "HcsStartComputeSystem", "c1")
	first := h.ok(t, "HcsCreateProcess", "c1", allStreams)
	later := h.ok(t, "HcsCreateProcess", "c1", allStreams)
	killed := h.ok(t, "HcsCreateProcess", "c1", `{"CommandLine":"x"}`)
	number := func(a Answer) string { return strconv.Itoa(int(a.Process.PID)) }
	pid := number(first)
	other := number(later)
	third := number(killed)
	input, output := h.connect(t, other, "0"), h.connect(t, other, "1")
	if _, err := io.WriteString(input, "before "); err != nil {
		t.Fatal(err)
	}

	h.ok(t, "HcsTerminateProcess", "c1", third)
	event(t, killed.Events)

	h.stop()
	system.Events.Leave() // its connection ends with the service
	// While the service is away, the program goes on: it reads and writes. That its input has ended it hears when a
	// service is there: the engine's shim holds the input open until then.
	if _, err := io.WriteString(input, "while"); err != nil {
		t.Fatal(err)
	}
	if err := input.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}

	text := make([]byte, len("before while"))
	if _, err := io.ReadFull(output, text); string(text) != "before while" || err != nil {
		t.Errorf("the output is %q, %v", text, err)
	}
	h.begin(t)
	if rest, err := io.ReadAll(output); len(rest) > 0 || err != nil {
		t.Errorf("the rest of the output is %q, %v", rest, err)
	}
	system = h.ok(t, "HcsOpenComputeSystem", "c1")
	if e := event(t, h.ok(t, "HcsOpenProcess", "c1", other).Events); !strings.Contains(e.Text, `"ExitCode":519`) {
		t.Errorf("the event of a process that ended meanwhile: %+v", e)
	}

	if e := event(t, h.ok(t, "HcsOpenProcess", "c1", third).Events); !strings.Contains(e.Text, `"ExitCode":1067`) {
		t.Errorf("the event of a process that ended before: %+v", e)
	}

	// What was not connected to before is now.
	out := h.connect(t, pid, "1")
	h.refused(t, InvalidState, "DeactivateLayer", scratchPath)
	h.ok(t, "HcsTerminateComputeSystem", "c1")
	if text, err := io.ReadAll(out); string(text) != "hello" || err != nil {
		t.Errorf("the first process' output is %q, %v", text, err)
	}

	if e := event(t, system.Events); e.Type != SystemExited {
		t.Errorf("the system's event: %+v", e)
	}
	if left, err := os.ReadDir(h.cfg.RunDir); len(left) > 0 || err != nil {
		t.Errorf("left of the compute system: %v, %v", left, err)
	}

	// A prepared layer is, too.
	h.stop()
	h.begin(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
}

// TestRestartInAStart: a process that nobody was told of is ended, and what has no record is removed.
func TestRestartInAStart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.ok(t, "HcsCreateProcess", "c1", allStreams)
	c, err := h.find("c1")
	if err != nil {
		t.Fatal(err)
	}

	// As a service leaves it that is killed while the process starts.
	c.starting, c.first.name = c.first, "1"
	c.processes, c.first = map[uint32]*process{}, nil
	h.stop()
	if err := c.keep(); err != nil {
		t.Fatal(err)
	}

	if err := os.MkdirAll(filepath.Join(h.config.RunDir, "hcs-other/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.begin(t)
	if h.engine.Count() > 0 {
		t.Error("the container of a process that nobody knows of is left")
	}

	if _, err := os.Stat(filepath.Join(h.config.RunDir, "hcs-other")); err == nil {
		t.Error("a folder without a record is left")
	}
	h.ok(t, "HcsCreateProcess", "c1", allStreams)
}

// TestLastHandle: a system that asks for it ends when nobody has it open.
func TestLastHandle(t *testing.T) {
	h := newHost(t)
	for _, ends := range []bool{false, true} {
		doc := h.document(t, map[string]any{"ShouldTerminateOnLastHandleClosed": ends})
		created := h.ok(t, "HcsCreateComputeSystem", "c1", doc)
		opened := h.ok(t, "HcsOpenComputeSystem", "c1")
		created.Events.Leave()
		if !h.Has("c1") {
			t.Fatal("the system has ended while it was open")
		}

		opened.Events.Leave()
		if !ends {
			watch := h.ok(t, "HcsOpenComputeSystem", "c1")
			h.ok(t, "HcsTerminateComputeSystem", "c1")
			event(t, watch.Events)
			continue
		}

		h.background.Wait()
		if h.Has("c1") {
			t.Error("the system has not ended")
		}
	}
}

// TestProgramThatDoesNotStart: the process gets Windows' error, and the next one may start.
func TestProgramThatDoesNotStart(t *testing.T) {
	h := newHost(t)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.ok(t, "HcsStartComputeSystem", "c1")
	h.engine.Refuse = "failed 2 File not found.\n"
	h.refused(t, FileNotFound, "HcsCreateProcess", "c1", `{"CommandLine":"absent.exe"}`)
	if h.engine.Count() > 0 {
		t.Error("the container of the program is left")
	}

	long := fmt.Sprintf(`{"CommandLine":"x.exe %s"}`, strings.Repeat("a", 1<<15))
	h.refused(t, ofWindows(206), "HcsCreateProcess", "c1", long)
	h.refused(t, LogonFailure, "HcsCreateProcess", "c1", `{"CommandLine":"x","User":"nobody"}`)
	h.ok(t, "HcsCreateProcess", "c1", `{"CommandLine":"x.exe"}`)
	h.ok(t, "HcsModifyComputeSystem", "c1", `{"ResourcePath":"Container/Memory/SizeInMB","RequestType":"Update","Settings":128}`)
	if got := h.engine.Limited[0].MemoryLimit; got != 128<<20 {
		t.Errorf("the limit is %d", got)
	}

	h.refused(t, NotSupported, "HcsModifyComputeSystem", "c1", `{"ResourcePath":"Container/MappedPipes","Settings":{}}`)
	h.refused(t, ofWindows(206), "HcsCreateProcess", "c1", long)
	h.refused(t, NoElement, "HcsOpenProcess", "c1", "99999")
	h.refused(t, InvalidArg, "HcsOpenProcess", "c1", "-1")
}

// TestRefusedDocuments: what would not be carried out is refused, with Windows' result.
func TestRefusedDocuments(t *testing.T) {
	h := newHost(t)
	for path, tc := range map[string]struct {
		value any
		want  Code
	}{
		"Colour":                              {"red", InvalidJSON},
		"Container.Colour":                    {"red", InvalidJSON},
		"Owner":                               {7, InvalidJSON},
		"SchemaVersion":                       {map[string]int{"Major": 1}, InvalidJSON},
		"Container.Memory":                    {map[string]int{"SizeInMB": -1}, InvalidJSON},
		"Container.Storage":                   {map[string]any{}, InvalidJSON},
		"Container.Storage.Path":              {`\\?\Volume{00000000-0000-0000-0000-000000000001}\`, PathNotFound},
		"VirtualMachine":                      {map[string]any{"Chipset": 1}, NoHypervisor},
		"HostedSystem":                        {map[string]any{"Container": 1}, NoHypervisor},
		"Container.AssignedDevices":           {[]any{map[string]any{}}, NotSupported},
		"Container.MappedPipes":               {[]any{map[string]any{}}, InvalidArg},
		"Container.ContainerCredentialGuard":  {map[string]any{"Cookie": "x"}, NotSupported},
		"Container.AdditionalDeviceNamespace": {map[string]any{"Class": 1}, NotSupported},
		"Container.IsolationType":             {"HostProcess", NotSupported},
		"Container.RegistryChanges":           {map[string]any{"AddValues": []any{map[string]string{"Name": "x"}}}, NotSupported},
		"Container.Networking.Namespace":      {"unknown", NoElement},
	} {
		h.refused(t, tc.want, "HcsCreateComputeSystem", "c1", h.document(t, map[string]any{path: tc.value}))
	}

	for _, text := range []string{"", "{", "[]", "null", `{"Container":null}`, h.document(t, nil) + "{}"} {
		h.refused(t, InvalidJSON, "HcsCreateComputeSystem", "c1", text)
	}

	h.refused(t, InvalidArg, "HcsCreateComputeSystem", "", h.document(t, nil))
	h.refused(t, InvalidArg, "HcsCreateComputeSystem", "c1")
	h.refused(t, NotImplemented, "HcsSaveComputeSystem", "c1", "")
	h.refused(t, NotImplemented, "HcsFly")
	if _, err := h.Call(t.Context(), "HcsCreateComputeSystem", []string{"c1", h.document(t, nil)}); err != nil {
		t.Errorf("after all that was refused: %v", err)
	}
}

// TestLayers: layers are folders of the drive, and nothing else is.
func TestLayers(t *testing.T) {
	h := newHost(t)
	if err := os.MkdirAll(filepath.Join(h.drive, "layers/next/Files/Windows/SYSTEM32"), 0o755); err != nil {
		t.Fatal(err)
	}

	h.ok(t, "ProcessBaseImage", `C:\Layers\NEXT`)
	for _, name := range []string{"Files/windows/System32", blankDisk} {
		if _, err := os.Stat(filepath.Join(h.drive, "layers/next", name)); err != nil {
			t.Errorf("after ProcessBaseImage: %v", err)
		}
	}

	if err := os.Symlink(t.TempDir(), filepath.Join(h.drive, "layers/out")); err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{`C:\layers\out`, `D:\x`, `\\server\share`, "C:\\a\x00b", `C:\`, ""} {
		for _, function := range []string{"ProcessBaseImage", "CreateLayer", "CreateSandboxLayer", "ActivateLayer", "DestroyLayer"} {
			_, err := h.Call(t.Context(), function, []string{path})
			if err == nil && function != "DestroyLayer" { // to which a layer that is not there is no error
				t.Errorf("%s(%q) is carried out", function, path)
			}
		}
	}

	if err := os.WriteFile(filepath.Join(h.drive, "layers/next", sandboxDisk), []byte("vhdxfile"), 0o644); err != nil {
		t.Fatal(err)
	}

	h.refused(t, NotSupported, "ActivateLayer", `C:\layers\next`)
	h.ok(t, "HcsCreateComputeSystem", "c1", h.document(t, nil))
	h.refused(t, InvalidState, "DeactivateLayer", scratchPath)
	h.refused(t, InvalidState, "DestroyLayer", scratchPath)
	h.refused(t, InvalidState, "HcsCreateComputeSystem", "c2", h.document(t, nil))
	c, err := h.find("c1")
	if err != nil {
		t.Fatal(err)
	}

	h.layers.leave(c.scratch) // as the end of a compute system begins
	h.ok(t, "DestroyLayer", scratchPath)
	h.ok(t, "HcsTerminateComputeSystem", "c1")
	h.background.Wait()
	if left, err := os.ReadDir(filepath.Join(h.cfg.StateDir, "scratch")); len(left) > 0 || err != nil {
		t.Errorf("a scratch that is destroyed while its user ends is left: %v, %v", left, err)
	}

	h.ok(t, "DestroyLayer", baseLayer)
	if h.ok(t, "LayerExists", baseLayer).Text != "0" {
		t.Error("the layer is still there")
	}
}
