//go:build wine

package exporter

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/wine/winetest"
	"mullion.dev/mullion/test/exporter/metrics"
)

const (
	program  = "../../bin/e2e/windows/windows_exporter.exe"
	patience = 60 * time.Second
)

// collectors are those that windows_exporter v0.30.8 has by default (pkg/collector/types.go), and others that have
// figures here.
const (
	defaults = "cpu,cs,memory,logical_disk,physical_disk,net,os,service,system"
	others   = "cpu_info,process"
)

func TestExporter(t *testing.T) {
	if _, err := os.Stat(program); err != nil {
		t.Skipf("needs windows_exporter.exe: make exporter: %v", err)
	}

	p := winetest.New(t, "pdh.dll", "mi.dll")
	p.CopyIn(t, program, "exporter/windows_exporter.exe")
	e := start(t, p, others)
	e.page(t) // the first may take its time
	before := readMachine(t)
	page := e.page(t)
	after := readMachine(t)
	m := metrics.Parse(t, page)
	t.Run("collectors", func(t *testing.T) {
		for name := range strings.SplitSeq(defaults+","+others, ",") {
			if m.Value(t, fmt.Sprintf("windows_exporter_collector_success{collector=%q}", name)) != 1 {
				t.Errorf("collector %s has failed", name)
			}
		}
		if t.Failed() {
			t.Log(e.output())
		}
	})
	t.Run("cpu", func(t *testing.T) { checkProcessors(t, m, before, after) })
	t.Run("memory", func(t *testing.T) { checkMemory(t, m, before) })
	t.Run("disk", func(t *testing.T) { checkDisk(t, p, m, before, after) })
	t.Run("net", func(t *testing.T) { checkNetwork(t, m, before, after) })
	t.Run("system", func(t *testing.T) { checkSystem(t, m, before, after) })
	t.Run("process", func(t *testing.T) { checkProcess(t, m) })
}

func checkProcessors(t *testing.T, m metrics.Page, before, after machine) {
	t.Helper()
	const slack = 2 // seconds: the kernel's idle time is not exact
	processors := strings.Count(before.stat, "\ncpu")
	m.Between(t, "windows_cpu_logical_processor", float64(processors), float64(processors))
	for i := range processors {
		sample := func(mode string) string {
			return fmt.Sprintf(`windows_cpu_time_total{core="0,%d",mode=%q}`, i, mode)
		}
		user, kernel, idle := before.seconds(fmt.Sprint("cpu", i))
		user2, kernel2, idle2 := after.seconds(fmt.Sprint("cpu", i))
		m.Between(t, sample("user"), user, user2+0.01)
		m.Between(t, sample("privileged"), kernel, kernel2+0.01)
		m.Between(t, sample("idle"), idle-slack, idle2+slack)
	}
}

func checkMemory(t *testing.T, m metrics.Page, before machine) {
	t.Helper()
	total := before.bytes("MemTotal")
	for _, name := range []string{"windows_memory_physical_total_bytes", "windows_cs_physical_memory_bytes"} {
		m.Between(t, name, total-4096, total)
	}
	limit := total + before.bytes("SwapTotal")
	m.Between(t, "windows_memory_commit_limit", limit, limit)
	available := before.bytes("MemAvailable")
	for _, name := range []string{"windows_memory_available_bytes", "windows_memory_physical_free_bytes"} {
		m.Between(t, name, available-total/10, available+total/10)
	}
}

func checkDisk(t *testing.T, p *winetest.Prefix, m metrics.Page, before, after machine) {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(p.Dir, &fs); err != nil {
		t.Fatal(err)
	}

	const megabyte = 1 << 20
	size, free := float64(fs.Blocks)*float64(fs.Bsize), float64(fs.Bavail)*float64(fs.Bsize)
	m.Between(t, `windows_logical_disk_size_bytes{volume="C:"}`, size-megabyte, size)
	m.Between(t, `windows_logical_disk_free_bytes{volume="C:"}`, free-1024*megabyte, free+1024*megabyte)
	const read = "windows_physical_disk_read_bytes_total"
	for _, name := range []string{"sda", "vda"} {
		if !strings.Contains(before.disk, " "+name+" ") {
			continue
		}
		sectors := func(m machine) float64 {
			_, rest, _ := strings.Cut(m.disk, " "+name+" ")
			return m.line(name+" "+rest, name)[2]
		}
		m.Between(t, read+`{disk="0"}`, sectors(before)*512, sectors(after)*512)
	}

	if disks := m.Names(read); len(disks) == 0 {
		t.Log("the machine shows no disk")
	}
}

func checkNetwork(t *testing.T, m metrics.Page, before, after machine) {
	t.Helper()
	for _, name := range before.adapters() {
		a, b := before.line(before.dev, name), after.line(after.dev, name)
		m.Between(t, fmt.Sprintf("windows_net_bytes_received_total{nic=%q}", name), a[0], b[0])
		m.Between(t, fmt.Sprintf("windows_net_bytes_sent_total{nic=%q}", name), a[8], b[8])
		m.Between(t, fmt.Sprintf("windows_net_packets_received_total{nic=%q}", name), a[1], b[1])
	}
}

func checkSystem(t *testing.T, m metrics.Page, before, after machine) {
	t.Helper()
	booted := before.line(before.stat, "btime")[0]
	m.Between(t, "windows_system_boot_time_timestamp", booted-5, booted+5)
	m.Between(t, "windows_system_context_switches_total",
		before.line(before.stat, "ctxt")[0], after.line(after.stat, "ctxt")[0])
	m.Between(t, "windows_system_processes", 2, 1000)
	m.Between(t, "windows_system_threads", m.Value(t, "windows_system_processes"), 10000)
	for _, metric := range []string{"windows_os_info", "windows_os_hostname", "windows_service_state", "windows_cpu_info"} {
		if len(m.Names(metric)) == 0 {
			t.Errorf("no sample of %s", metric)
		}
	}

	if name := m.Names("windows_os_info")[0]; !strings.Contains(name, "Windows Server 2022") ||
		!strings.Contains(name, "20348") {
		t.Errorf("the system is %s", name)
	}
}

// checkProcess looks at the exporter itself.
func checkProcess(t *testing.T, m metrics.Page) {
	t.Helper()
	for metric, high := range map[string]float64{
		"windows_process_cpu_time_total": 600, "windows_process_working_set_bytes": 1 << 31,
		"windows_process_threads": 1000, "windows_process_private_bytes": 1 << 31,
	} {
		var sum float64
		for _, name := range m.Names(metric) {
			if strings.Contains(name, `process="windows_exporter"`) {
				sum += m[name]
			}
		}

		if sum <= 0 || sum > high {
			t.Errorf("%s of the exporter is %v, want up to %v", metric, sum, high)
		}
	}

	for _, name := range m.Names("windows_process_start_time_seconds_timestamp") {
		if !strings.Contains(name, `process="windows_exporter"`) {
			continue
		}
		if age := time.Since(time.Unix(int64(m[name]), 0)); age < 0 || age > patience*2 {
			t.Errorf("the exporter is %v old", age)
		}
	}
}

// exporter is the program while it runs.
type exporter struct {
	address string
	log     string // the file of its output
}

// start starts the exporter with the default collectors and more of them.
func start(t *testing.T, p *winetest.Prefix, more string) exporter {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := exporter{address: free.Addr().String(), log: filepath.Join(t.TempDir(), "output")}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}

	output, err := os.Create(e.log)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := p.Command(ctx, winetest.Launcher, "--", `C:\exporter\windows_exporter.exe`,
		"--web.listen-address="+e.address, "--collectors.enabled=[defaults],"+more)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it is ended, not asked to end
	})
	return e
}

func (e exporter) output() string {
	text, err := os.ReadFile(e.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// page waits for the page of metrics.
func (e exporter) page(t *testing.T) string {
	t.Helper()
	client := http.Client{Timeout: patience}
	ask := func() (string, error) {
		response, err := client.Get("http://" + e.address + "/metrics")
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %s: %s", response.Status, text)
		}

		return string(text), err
	}

	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()

	for end := time.Now().Add(patience); ; <-ticks.C {
		text, err := ask()
		if err == nil {
			return text
		}
		if time.Now().After(end) {
			t.Fatalf("no page of metrics: %v\n%s", err, e.output())
		}
	}
}
