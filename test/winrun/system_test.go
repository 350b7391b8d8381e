//go:build wine

package winrun

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// serviceProcesses returns Wine's services of the prefix that run.
func (p prefix) serviceProcesses(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, name := range p.processes(t) {
		name = strings.ToLower(filepath.Base(strings.ReplaceAll(name, `\`, "/")))
		if slices.Contains([]string{"services.exe", "winedevice.exe", "plugplay.exe", "svchost.exe", "rpcss.exe"},
			name) {
			found = append(found, name)
		}
	}
	return found
}

// fresh ends what runs in the prefix and starts a program that stays, so that the prefix lives while others run in it.
func (p prefix) fresh(t *testing.T) {
	t.Helper()
	p.Stop()
	r := startReady(t, p.command(t, "--", "prog", "sleep"))
	t.Cleanup(func() {
		r.stop()
		p.Stop()
	})
}

// testOnDemand asks, each time in a prefix where no service runs, for something that only a service provides.
func testOnDemand(t *testing.T, p prefix) {
	t.Helper()
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"interfaces", []string{"prog", "addrs"}, localAddresses(t)},
		{"adapters", []string{"prog", "iphlpapi"}, "GetAdaptersInfo 0"},
		{"ipconfig", []string{"cmd", "/c", "ipconfig"}, "Windows IP Configuration"},
		{"ping", []string{"ping", "-n", "1", "127.0.0.1"}, "Received = 1"},
		{"service_manager", []string{"prog", "services"}, "open\n"},
		{"mount_manager", []string{"prog", "mountpoint"}, `\\?\Volume{`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.fresh(t)
			if before := p.serviceProcesses(t); before != nil {
				t.Fatalf("services %q run before anybody has asked", before)
			}
			if got := p.run(t, append([]string{"--"}, tt.args...)...); got.code != 0 ||
				!strings.Contains(got.out, tt.want) {
				t.Errorf("%+v, want %q", got, tt.want)
			}

			started := 0
			for _, name := range p.serviceProcesses(t) {
				if name == "services.exe" {
					started++
				}
			}

			if started != 1 {
				t.Errorf("services.exe runs %d times, want once", started)
			}
		})
	}

	t.Run("functions", func(t *testing.T) {
		p.fresh(t)
		got := p.run(t, "--", "prog", "iphlpapi")
		for line := range strings.Lines(got.out) {
			if !strings.HasSuffix(line, " 0\n") {
				t.Errorf("result of %q, want 0", line)
			}
		}

		if strings.Count(got.out, "\n") != 15 {
			t.Errorf("%+v", got)
		}
	})
}

// localAddresses returns the first lines of what the verb addrs must print.
func localAddresses(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if text := a.String(); !strings.HasPrefix(text, "127.") && !strings.Contains(text, ":") {
			return "address " + text + "\n"
		}
	}
	return "address 127.0.0.1/8\n"
}

// testVolume asks for what the mount manager would be asked for often; no service may be started for it.
func testVolume(t *testing.T, p prefix) {
	t.Helper()
	p.fresh(t)
	serial := regexp.MustCompile(`serial [0-9a-f]{8}\n`)
	got := p.run(t, "--", "prog", "volume", `C:\`)
	number := serial.FindString(got.out)
	const want = "label \"\"\nsystem NTFS\nlongest 255\n\nspace true\ntype 3\nnone 1\nc true\nsame true\n"
	if strings.Replace(got.out, number, "\n", 1) != want || number == "serial 00000000\n" {
		t.Errorf("%+v", got)
	}

	if got := p.run(t, "--", "cmd", "/c", "dir"); got.code != 0 || !strings.Contains(got.out, "prog.exe") ||
		!strings.Contains(got.out, "has no label") {
		t.Errorf("dir: %+v", got)
	}
	if got := p.run(t, "--", "cmd", "/c", "vol"); got.code != 0 || !strings.Contains(got.out, "Serial Number is ") {
		t.Errorf("vol: %+v", got)
	}

	if running := p.serviceProcesses(t); running != nil {
		t.Fatalf("services %q were started", running)
	}
	if got := p.run(t, "--services"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := p.run(t, "--", "prog", "volume", `C:\`); serial.FindString(got.out) != number {
		t.Errorf("the serial number changes when services run: %+v, was %q", got, number)
	}
}

// testStacks has a shell start a program of many threads: each would have a megabyte of its stack resident if Wine
// cleared it.
func testStacks(t *testing.T, p prefix) {
	t.Helper()
	p.Stop()
	r := startReady(t, p.command(t, "--", "cmd", "/c", "prog", "threads", "40"))
	defer r.stop()
	status, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range status {
		name, threads, anonymous := readStatus(file)
		if name != "prog" || threads < 40 || !p.owns(filepath.Dir(file)) {
			continue
		}
		if limit := 30 << 10; anonymous > limit {
			t.Errorf("%d threads have %d KiB of anonymous memory, want less than %d", threads, anonymous, limit)
		}
		return
	}

	t.Error("no process of the program with 40 threads")
}

// testZone has a shell start a program: neither compares Linux' time zone with those of the registry as it begins.
// mullion-run.exe, which Linux has started, compares. A program's own first question for the zone is answered.
func testZone(t *testing.T, p prefix) {
	t.Helper()
	if got := p.run(t, "--", "w32tm", "/tz"); got.code != 0 || !strings.Contains(got.out, "Bias:") {
		t.Errorf("w32tm /tz: %+v", got)
	}

	cmd := p.command(t, "--", "cmd", "/c", "prog", "exit", "0")
	cmd.Env = append(slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "WINEDEBUG=") }),
		"WINEDEBUG=-all,+reg")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if code := exitCode(t, cmd.Run()); code != 0 {
		t.Errorf("exit code %d", code)
	}

	compare, begin := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(errs.String(), "\n") {
		thread, what, _ := strings.Cut(line, ":")
		if strings.Contains(what, "NtOpenKey") && strings.Contains(what, `L"Afghanistan Standard Time"`) {
			compare[thread] = true
		}
		if strings.Contains(what, "NtCreateKey") && strings.Contains(what, `Control\\Nls"`) {
			begin[thread] = true
		}
	}

	if len(compare) != 1 || len(begin) != 3 {
		t.Errorf("of %d programs %d compare the time zone as they begin, want of three one", len(begin), len(compare))
	}
}

// readStatus reads name, threads and anonymous memory in KiB from a status file of /proc; the process may be gone.
func readStatus(file string) (name string, threads, anonymous int) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, 0
	}
	defer f.Close()

	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			name = value
		case "Threads":
			_, _ = fmt.Sscanf(value, "%d", &threads)
		case "RssAnon":
			_, _ = fmt.Sscanf(value, "%d kB", &anonymous)
		}
	}

	return name, threads, anonymous
}

// testPriority: a priority class is a nice value of all threads. A program of a higher class starts others with the
// class that it names, or NORMAL; in a job whose limit is a class all have that.
func testPriority(t *testing.T, p prefix) {
	t.Helper()
	for _, tt := range []struct {
		by    string
		nices map[string]int
	}{
		{"itself", map[string]int{"priority itself": -5, "threads 3": 0, "threads 4": 15, "threads 5": -10}},
		{"job", map[string]int{"priority job": -5, "threads 3": -5, "threads 4": -5, "threads 5": -5}}, // as kubelet.exe
	} {
		t.Run(tt.by, func(t *testing.T) {
			p.Stop()
			r := startReady(t, p.command(t, "--", "prog", "priority", tt.by))
			t.Cleanup(func() {
				r.stop()
				p.Stop()
			})

			for args, want := range tt.nices {
				got := nices(t, p, args)
				if len(got) < 3 || slices.Min(got) != want || slices.Max(got) != want {
					t.Errorf("threads of prog %s have the nice values %v, want %d", args, got, want)
				}
			}
		})
	}
}

// nices returns the nice values of the threads of the program of a prefix with these arguments.
func nices(t *testing.T, p prefix, args string) (values []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}

	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // it may have ended
		words := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		launcher := strings.HasSuffix(words, "-- prog "+args)
		if launcher || !p.owns(dir) || !strings.HasSuffix(words, " "+args) {
			continue
		}

		threads, err := filepath.Glob(filepath.Join(dir, "task/*/stat"))
		if err != nil {
			t.Fatal(err)
		}

		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			if err != nil {
				continue // it has ended
			}

			// from the third field of proc_pid_stat(5) on
			fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
			nice, err := strconv.Atoi(fields[19-3])
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, nice)
		}
	}

	return values
}
