// Command bench measures the figures that Mullion promises, on this machine, and prints a table: what, the median and
// the spread of several runs. It brings up a cluster of its own, with a Linux and two Windows nodes, and takes it down.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mullion.dev/mullion/hack/kept"
)

type bench struct {
	bin, data string
	// earlier are the programs of an earlier commit, if there are any.
	earlier  programs
	runs     int
	only     []string
	out, log io.Writer
}

type figure struct {
	what, asked, unit string
	values            []float64
}

func main() {
	runs := flag.Int("runs", 5, "how often each figure is measured")
	only := flag.String("only", "", "measure these alone: "+strings.Join(names(), ", ")+" (with commas)")
	var earlier programs
	flag.Var(&earlier, "against", "COMMIT=FOLDER: measure bringing up, in turns with the programs of an earlier commit")
	flag.Parse()

	bin, err := filepath.Abs("bin")
	if err == nil {
		var data string
		if data, err = os.MkdirTemp("", "mullion-bench-"); err == nil {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			b := bench{
				bin:  bin,
				data: filepath.Join(data, "data"),
				runs: *runs,
				only: strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }),
				out:  os.Stdout,
				log:  os.Stderr,
			}

			b.earlier = earlier

			err = b.run(ctx)
			stop()
			os.RemoveAll(data)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

const spec = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-bench
networking: {underlaySubnet: 10.215.0.0/24, podSubnet: 10.246.0.0/16, serviceSubnet: 10.98.0.0/16}
nodes: [{os: linux, taint: false}, {windowsVersion: ltsc2022, count: 2}]
`

func (b *bench) mullion(ctx context.Context, stdin string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "mullion"), append([]string{"--data-dir", b.data}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("mullion %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return nil
}

// timed runs mullion and returns the seconds it took.
func (b *bench) timed(ctx context.Context, stdin string, args ...string) (float64, error) {
	started := time.Now()
	err := b.mullion(ctx, stdin, args...)
	return time.Since(started).Seconds(), err
}

func (b *bench) run(ctx context.Context) error {
	defer func() {
		if err := b.mullion(context.WithoutCancel(ctx), "", "down", "--kubeconfig", "none"); err != nil {
			fmt.Fprintln(b.log, err)
		}
	}()

	for _, name := range b.only {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("-only %s: there are %s", name, strings.Join(names(), ", "))
		}
	}

	// The tree may have become another one when the figures are there.
	began, load := time.Now(), kept.WatchLoad()
	var of kept.Result
	of.Commit, of.Changed = kept.Commit(ctx, ".")
	onCluster := slices.ContainsFunc(b.only, func(name string) bool { return !slices.Contains(apart(), name) })

	var figures []figure
	for _, m := range measures() {
		if len(b.only) > 0 && !slices.Contains(b.only, m.name) {
			if m.prepare == nil || !onCluster {
				continue
			}
			if err := m.prepare(b, ctx); err != nil {
				return err
			}
			continue
		}

		got, err := m.measure(b, ctx)
		figures = append(figures, got...)
		b.print(got)
		if err != nil {
			return err
		}
	}

	fmt.Fprintf(b.out, "\n| what | asked | median | spread | runs |\n|---|---|---|---|---|\n")
	for _, f := range figures {
		fmt.Fprintf(b.out, "| %s | %s | %s |\n", f.what, f.asked, f.cells())
	}

	return b.keep(ctx, of, began, load(), figures)
}

// keep writes the figures, with what they were measured on. r has the commit.
func (b *bench) keep(ctx context.Context, r kept.Result, began time.Time, load kept.Load, figures []figure) error {
	r.Suite = "bench"
	r.Began, r.Seconds = began.UTC().Truncate(time.Second), time.Since(began).Seconds()
	r.Machine, r.Load = kept.ThisMachine(ctx), load
	r.Args = slices.Clone(os.Args[1:])
	for i, arg := range r.Args { // the folder is one of this machine
		if b.earlier.folder != "" {
			r.Args[i] = strings.ReplaceAll(arg, b.earlier.folder, "FOLDER")
		}
	}

	for _, f := range figures {
		r.Figures = append(r.Figures, kept.Figure{
			What:   f.what,
			Asked:  f.asked,
			Unit:   f.unit,
			Values: f.values,
		})
	}

	path, err := kept.Write(kept.Fresh, r)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.log, "the figures are in %s\n", path)
	return nil
}

// measure measures some figures. prepare, if set, makes what earlier measures leave behind for it; it is for a run
// without those.
type measure struct {
	name    string
	measure func(*bench, context.Context) ([]figure, error)
	prepare func(*bench, context.Context) error
}

func measures() []measure {
	return []measure{
		{"check", (*bench).check, nil}, // without a cluster
		{"network", (*bench).network, nil},
		{"single", (*bench).single, nil},
		{"earlier", (*bench).thanEarlier, nil}, // only with -against
		{"up", (*bench).up, (*bench).cluster},
		{"pods", (*bench).pods, (*bench).image},
		{"against", (*bench).against, nil},
		{"exec", (*bench).exec, nil},
		{"memory", (*bench).memory, nil},
		{"cni", (*bench).cni, nil},
		{"packets", (*bench).packets, nil},
		{"hundred", (*bench).hundred, nil},
		{"probes", (*bench).probes, nil},
		{"proxy", (*bench).proxy, nil}, // on clusters of their own, from here
		{"twenty", (*bench).twenty, nil},
	}
}

// apart returns the measures that do not use the cluster of the others.
func apart() []string { return []string{"check", "network", "single", "earlier", "proxy", "twenty"} }

func names() []string {
	var all []string
	for _, m := range measures() {
		all = append(all, m.name)
	}
	return all
}

func (f figure) cells() string {
	v := slices.Sorted(slices.Values(f.values))
	if len(v) == 0 {
		return "not measured | | 0"
	}
	return fmt.Sprintf("%.2f %s | %.2f – %.2f | %d", v[len(v)/2], f.unit, v[0], v[len(v)-1], len(v))
}

func (b *bench) print(figures []figure) {
	for _, f := range figures {
		fmt.Fprintf(b.log, "%s: %s\n", f.what, f.cells())
	}
}

// cluster brings the cluster up.
func (b *bench) cluster(ctx context.Context) error {
	return b.mullion(ctx, spec, "up", "-f", "-", "--kubeconfig", "none")
}

// image loads the pods' image.
func (b *bench) image(ctx context.Context) error {
	return b.mullion(ctx, "", "image", "load", filepath.Join(b.bin, "webserver.tar"))
}

// up measures a warm `up`: the programs are built, the cluster's state is there, nothing runs.
func (b *bench) up(ctx context.Context) ([]figure, error) {
	cold := figure{
		what:  "cold up (no state) of a Linux and two Windows nodes, DNS answering",
		asked: "",
		unit:  "s",
	}

	warm := figure{
		what:  "warm up of a Linux and two Windows nodes, DNS answering",
		asked: "≤ 40 s",
		unit:  "s",
	}

	args := []string{"up", "-f", "-", "--kubeconfig", "none"}
	s, err := b.answering(ctx, args...)
	if err != nil {
		return nil, err
	}

	cold.values = append(cold.values, s)
	for range b.runs {
		if err := b.mullion(ctx, "", "stop"); err != nil {
			return []figure{cold}, err
		}
		s, err := b.answering(ctx, args...)
		if err != nil {
			return []figure{cold}, err
		}
		warm.values = append(warm.values, s)
	}

	return []figure{cold, warm}, nil
}

// answering brings the cluster up and returns the seconds until its DNS answers.
func (b *bench) answering(ctx context.Context, args ...string) (float64, error) {
	started := time.Now()
	if err := b.mullion(ctx, spec, args...); err != nil {
		return 0, err
	}
	err := b.resolves(ctx)
	return time.Since(started).Seconds(), err
}

const podSpec = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"app":"bench"}},"spec":{"nodeSelector":{"kubernetes.io/os":"windows"},
"terminationGracePeriodSeconds":1,"containers":[{"name":"c","image":"mullion.local/webserver:v1","imagePullPolicy":"Never",
"readinessProbe":{"httpGet":{"path":"/healthz","port":80},"periodSeconds":1}}]}}`

func (b *bench) pods(ctx context.Context) ([]figure, error) {
	one := figure{
		what:  "pod created to Ready, one",
		asked: "≤ 2 s",
		unit:  "s",
	}

	ten := figure{
		what:  "pod created to Ready, the last of ten at once",
		asked: "≤ 6 s",
		unit:  "s",
	}
	if err := b.image(ctx); err != nil {
		return nil, err
	}

	for i := range b.runs + 1 {
		s, err := b.readyAfter(ctx, podSpec, []string{fmt.Sprintf("one-%d", i)})
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first unpacks the image
			one.values = append(one.values, s)
		}
	}

	for i := range b.runs {
		var names []string
		for n := range 10 {
			names = append(names, fmt.Sprintf("ten-%d-%d", i, n))
		}

		s, err := b.readyAfter(ctx, podSpec, names)
		if err != nil {
			return []figure{one}, err
		}
		ten.values = append(ten.values, s)
	}

	return []figure{one, ten}, nil
}

// readyAfter creates pods, waits until all are Ready, deletes them, and returns the seconds from creation to the last
// Ready.
func (b *bench) readyAfter(ctx context.Context, spec string, names []string) (float64, error) {
	var pods strings.Builder
	for _, n := range names {
		fmt.Fprintf(&pods, spec+"\n", n)
	}

	started := time.Now()
	if err := b.mullion(ctx, pods.String(), "kubectl", "create", "-f", "-"); err != nil {
		return 0, err
	}
	if err := b.mullion(ctx, "", "kubectl", "wait", "--for=condition=Ready", "pod", "-l", "app=bench",
		"--timeout="+toCome.String()); err != nil {
		return 0, err
	}

	took := time.Since(started).Seconds()
	err := b.mullion(ctx, "", "kubectl", "delete", "pod", "-l", "app=bench", "--wait=true", "--timeout="+toCome.String())
	return took, err
}

func (b *bench) memory(ctx context.Context) ([]figure, error) {
	idle := figure{
		what:  "idle cluster with two Windows nodes, RSS of all processes",
		asked: "≤ 1.8 GiB",
		unit:  "GiB",
	}

	idlePSS := figure{what: "the same, PSS (shared pages counted once)", unit: "GiB"}
	pod := figure{
		what:  "a further idle Windows pod, PSS",
		asked: "≤ 40 MB",
		unit:  "MB",
	}

	rss, pss, err := b.resident()
	if err != nil {
		return nil, err
	}

	idle.values, idlePSS.values = append(idle.values, rss/(1<<30)), append(idlePSS.values, pss/(1<<30))
	supervisor, err := b.supervisor(ctx)
	if err != nil {
		return nil, err
	}

	const more = 5
	var pods strings.Builder
	for n := range more {
		fmt.Fprintf(&pods, podSpec+"\n", fmt.Sprintf("idle-%d", n))
	}

	if err := b.mullion(ctx, pods.String(), "kubectl", "create", "-f", "-"); err != nil {
		return nil, err
	}
	if err := b.mullion(ctx, "", "kubectl", "wait", "--for=condition=Ready", "pod", "-l", "app=bench",
		"--timeout=120s"); err != nil {
		return nil, err
	}

	_, with, err := b.resident()
	pod.values = append(pod.values, (with-pss)/more/1e6)
	return []figure{idle, idlePSS, supervisor, pod}, err
}

// The supervisor is looked at so often, with that pause: at other moments of the time after which it gives back what it
// has used (package memtrim).
const (
	supervisorLooks = 12
	supervisorPause = 7 * time.Second
)

// supervisor measures the memory of the process that keeps the cluster, while nothing happens.
func (b *bench) supervisor(ctx context.Context) (figure, error) {
	f := figure{
		what:  "the supervisor of that cluster, RSS",
		asked: "≤ 40 MB",
		unit:  "MB",
	}
	dir, err := b.supervisorDir()
	if err != nil {
		return f, err
	}

	for range supervisorLooks {
		select {
		case <-ctx.Done():
			return f, ctx.Err()
		case <-time.After(supervisorPause):
		}

		rss, _ := rollup(dir)
		if rss == 0 {
			return f, fmt.Errorf("the supervisor %s has ended", filepath.Base(dir))
		}
		f.values = append(f.values, rss/1e6)
	}

	return f, nil
}

// supervisorDir returns the folder of /proc of the process that keeps the cluster.
func (b *bench) supervisorDir() (string, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue // it is gone
		}
		args := strings.Split(string(line), "\x00")
		if slices.Contains(args, b.data) && slices.Contains(args, "supervise") {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no process keeps the cluster in %s", b.data)
}

// status is what `mullion status` prints.
type status struct {
	CgroupParent string `json:"cgroupParent"`
	Supervisor   struct {
		Units []struct {
			Name string
			PID  int
		}
	}
}

func (b *bench) status() (status, error) {
	var s status
	out, err := exec.Command(filepath.Join(b.bin, "mullion"), "--data-dir", b.data, "status", "-o", "json").Output()
	var ended *exec.ExitError
	// a cluster under load may be unwell for a moment, and says so by its exit code
	if err != nil && !errors.As(err, &ended) {
		return s, fmt.Errorf("mullion status: %w", err)
	}
	return s, json.Unmarshal(out, &s)
}

// resident sums the memory of the cluster's processes in bytes: those that carry its marker and those in its cgroups.
func (b *bench) resident() (rss, pss float64, err error) {
	s, err := b.status()
	if err != nil {
		return 0, 0, err
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, 0, err
	}

	for _, dir := range dirs {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue // it is gone
		}

		cgroup, err := os.ReadFile(filepath.Join(dir, "cgroup"))
		if err != nil {
			continue
		}
		if !bytes.Contains(environ, []byte("MULLION_CLUSTER="+b.data)) &&
			!strings.Contains(string(cgroup), s.CgroupParent+"/") {
			continue
		}

		r, p := rollup(dir)
		rss, pss = rss+r, pss+p
	}

	return rss, pss, nil
}

func rollup(dir string) (rss, pss float64) {
	text, err := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
	if err != nil {
		return 0, 0
	}

	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			continue
		}

		switch f[0] {
		case "Rss:":
			rss += kib * 1024
		case "Pss:":
			pss += kib * 1024
		}
	}

	return rss, pss
}
