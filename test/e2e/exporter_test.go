//go:build cluster

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/test/built"
	"mullion.dev/mullion/test/exporter/metrics"
)

// exporterImages are the two images that windows_exporter's DaemonSet names. Its own is made as its Dockerfile says.
// PowerShell's needs no files: what the container runs, a HostProcess container takes from the host.
const exporterImages = `- tags: ["ghcr.io/prometheus-community/windows-exporter:latest"]
  osVersions: [ltsc2022]
  entrypoint: [windows_exporter.exe]
- tags: ["mcr.microsoft.com/powershell:lts-nanoserver-1809"]
  osVersions: [ltsc2022]
`

// TestExporterDaemonSet runs windows_exporter as its own project's DaemonSet does, a HostProcess container in each
// Windows node. All collectors have to succeed, those by default and the one for containers, with true figures.
func TestExporterDaemonSet(t *testing.T) {
	needs(t, program("e2e/windows/windows_exporter.exe", "windows_exporter.exe", "exporter"))
	c := newCluster(t)

	t.Cleanup(func() { c.takeDown(t) })
	c.must(t, "up", "--windows-version", "ltsc2022", "--sample")
	c.exporterImages(t, filepath.Join(c.bin, "e2e", "windows", "windows_exporter.exe"))
	manifest := filepath.Join(c.home, "daemonset.yaml")
	// The images are on the node, and no registry has them.
	text := strings.ReplaceAll(c.exporterManifest(t), "imagePullPolicy: Always", "imagePullPolicy: IfNotPresent")
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	c.must(t, "kubectl", "apply", "-f", manifest)
	c.must(t, "kubectl", "rollout", "status", "daemonset/windows-exporter", "-n", "monitoring", "--timeout=3m")
	c.must(t, "kubectl", "rollout", "status", "deployment/win-webserver", "--timeout=3m")
	name := c.must(t, "kubectl", "get", "pods", "-n", "monitoring", "-l", "app=windows-exporter", "-o", "name")
	path := "/api/v1/namespaces/monitoring/pods/" + strings.TrimPrefix(strings.TrimSpace(name), "pod/") + ":9182/proxy/metrics"
	c.must(t, "kubectl", "get", "--raw", path) // the first may take its time
	page := metrics.Parse(t, c.must(t, "kubectl", "get", "--raw", path))
	for _, sample := range page.Names("windows_exporter_collector_success") {
		if page[sample] != 1 {
			t.Errorf("%s is %v", sample, page[sample])
		}
	}

	for collector := range strings.SplitSeq("cpu,memory,logical_disk,physical_disk,net,os,service,system,container", ",") {
		page.Value(t, fmt.Sprintf("windows_exporter_collector_success{collector=%q}", collector))
	}

	page.Between(t, "windows_cpu_logical_processor", float64(runtime.NumCPU()), float64(runtime.NumCPU()))
	total := memTotal(t)
	page.Between(t, "windows_memory_physical_total_bytes", total-4096, total)
	c.containerFigures(t, page)
	if t.Failed() {
		t.Log(c.must(t, "kubectl", "logs", "-n", "monitoring", "-l", "app=windows-exporter", "--tail=40"))
	}
}

// exporterImages makes the images and puts them on the nodes.
func (c cluster) exporterImages(t *testing.T, program string) {
	t.Helper()
	for i, spec := range strings.Split(exporterImages, "- tags")[1:] {
		dir := filepath.Join(t.TempDir(), "files")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := os.Link(program, filepath.Join(dir, "windows_exporter.exe")); err != nil {
				t.Fatal(err)
			}
		}

		file := filepath.Join(filepath.Dir(dir), "image.yaml")
		spec = "tags" + strings.ReplaceAll(spec, "\n  ", "\n")
		if err := os.WriteFile(file, []byte(spec), 0o600); err != nil {
			t.Fatal(err)
		}
		c.must(t, "image", "build", dir, "-f", file)
	}
}

// exporterManifest returns the DaemonSet of the module whose program runs.
func (c cluster) exporterManifest(t *testing.T) string {
	t.Helper()
	const module = "github.com/prometheus-community/windows_exporter"
	dir := filepath.Join(built.Repository(), "upstream/test/windows-exporter")
	out, err := exec.CommandContext(t.Context(), "go", "-C", dir, "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find %s: %v", module, err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "kubernetes",
		"windows-exporter-daemonset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// containerFigures compares what a page says of the sample's container with what the kubelet says of it.
func (c cluster) containerFigures(t *testing.T, page metrics.Page) {
	t.Helper()
	ids := c.must(t, "kubectl", "get", "pods", "-l", "app=win-webserver", "-o",
		"jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[0].containerID}{\"\\n\"}{end}")
	of := regexp.MustCompile(`(\S+) (containerd://[0-9a-f]{64})`).FindStringSubmatch(ids)
	if of == nil {
		t.Fatalf("the sample has no container: %s", ids)
	}

	label := fmt.Sprintf("{container_id=%q}", of[2])
	cpu, memory := c.summary(t, of[1])
	page.Between(t, "windows_container_available"+label, 1, 1)
	page.Between(t, "windows_container_cpu_usage_seconds_total"+label, 0.01, cpu.Seconds()+1)
	page.Between(t, "windows_container_memory_usage_private_working_set_bytes"+label, memory/2, memory*2)
	received := 0.0
	for _, sample := range page.Names("windows_container_network_receive_bytes_total") {
		if strings.Contains(sample, of[2]) {
			received += page[sample]
		}
	}

	if received <= 0 {
		t.Errorf("nothing is said to be received by %s: %v", of[2], page.Names("windows_container_network_receive_bytes_total"))
	}
}

// summary returns the processor time and the working set, in bytes, of a pod's first container by the kubelet's
// figures, once it has some.
func (c cluster) summary(t *testing.T, pod string) (cpu time.Duration, memory float64) {
	t.Helper()
	poll(t, 2*settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "get", "--raw", "/api/v1/nodes/win-1/proxy/stats/summary")
		if err != nil {
			return err
		}

		var all struct {
			Pods []struct {
				PodRef     struct{ Name string }
				Containers []struct {
					CPU    struct{ UsageCoreNanoSeconds int64 }
					Memory struct{ WorkingSetBytes float64 }
				}
			}
		}

		if err := json.Unmarshal([]byte(out), &all); err != nil {
			return err
		}

		for _, p := range all.Pods {
			if p.PodRef.Name == pod && len(p.Containers) > 0 && p.Containers[0].CPU.UsageCoreNanoSeconds > 0 {
				cpu = time.Duration(p.Containers[0].CPU.UsageCoreNanoSeconds)
				memory = p.Containers[0].Memory.WorkingSetBytes
				return nil
			}
		}

		return fmt.Errorf("the kubelet has no figures of pod %s", pod)
	})

	return cpu, memory
}

// memTotal returns the machine's memory in bytes.
func memTotal(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	total := regexp.MustCompile(`MemTotal: +(\d+) kB`).FindStringSubmatch(string(text))
	if total == nil {
		t.Fatalf("no MemTotal in %s", text)
	}

	n, err := strconv.ParseFloat(total[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * 1024
}
