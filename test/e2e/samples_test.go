//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/test/built"
	"mullion.dev/mullion/test/documents"
)

// samplesYAML has a Windows node on which the documents' samples land, one that is tainted as the documents advise, and
// one of the old build that the oldest document is about, which is cordoned but for that document's samples.
const samplesYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-documents
nodes:
- os: linux
- windowsVersion: ltsc2019
- windowsVersion: ltsc2019
  taint: true
- windowsVersion: "1709"
`

// samplesName is the variable that chooses samples: "all", or IDs with commas. Without it there is no such run:
// TestDocumentsSample tries the first of them.
const samplesName = "MULLION_DOCUMENTS"

// sampler tries samples on a cluster.
type sampler struct {
	cluster
	tools   string // a folder with kubectl for the operator's shell
	node    string // the Windows node of the steps on one
	version string
	chosen  []string
}

// TestDocuments tries the samples of test/documents on a cluster of its own.
func TestDocuments(t *testing.T) {
	names := os.Getenv(samplesName)
	if names == "" {
		t.Skipf("make test-documents tries every sample; %s chooses", samplesName)
	}
	needs(t)

	c, given := givenCluster(t)
	s := sampler{
		cluster: c,
		tools:   t.TempDir(),
		node:    "win-1",
		chosen:  strings.Split(names, ","),
	}

	kubectl := "#!/bin/sh\nexec mullion kubectl \"$@\"\n"
	if err := os.WriteFile(filepath.Join(s.tools, "kubectl"), []byte(kubectl), 0o755); err != nil {
		t.Fatal(err)
	}

	if !given {
		s.netns = offline(t)
		s.bringUp(t, samplesYAML)
	}

	version, err := s.shell(t.Context(), t, "kubectl get node win-1 -o jsonpath='{.status.nodeInfo.kubeletVersion}'")
	if err != nil {
		t.Fatalf("%v\n%s", err, version)
	}

	s.version = version
	ran := 0
	for _, sample := range documents.Samples() {
		if sample.With == "" {
			ran += s.try(t, sample)
		}
	}

	if ran == 0 {
		t.Errorf("no sample that can be tried is named in %s=%s", samplesName, names)
	}
}

// wanted says whether a sample, or one that is tried with it, was chosen.
func (s sampler) wanted(sample documents.Sample) bool {
	if sample.Level == documents.NotRun || sample.Bare { // TestFieldBareHost
		return false
	}
	return slices.Contains(s.chosen, "all") || slices.Contains(s.chosen, sample.ID) ||
		slices.ContainsFunc(documents.Within(sample.ID), s.wanted)
}

// try tries a sample, and those that are tried with it; it returns how many.
func (s sampler) try(t *testing.T, sample documents.Sample) int {
	t.Helper()
	if !s.wanted(sample) {
		return 0
	}

	ran := 1
	t.Run(sample.ID, func(t *testing.T) {
		begin := time.Now()
		func() {
			defer func() { s.record(t, sample, time.Since(begin)) }()
			if sample.Kind == documents.Manifest {
				s.only(t, sample.Node)
				s.apply(t, sample)
			}
			for _, step := range sample.Steps {
				s.see(t, step)
			}
		}()

		for _, other := range documents.Within(sample.ID) {
			ran += s.try(t, other)
		}
	})

	return ran
}

// only lets pods land on the nodes of one build alone.
func (s sampler) only(t *testing.T, build string) {
	t.Helper()
	open, closed := "win-1 win-2", "win-3"
	if build == "1709" {
		open, closed = closed, open
	}
	if out, err := s.shell(t.Context(), t, "kubectl uncordon "+open+" && kubectl cordon "+closed); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// apply applies a manifest until the test ends; if the API server refuses it as the table says, nothing is there.
func (s sampler) apply(t *testing.T, sample documents.Sample) {
	t.Helper()
	file := filepath.Join(built.Repository(), sample.Path())
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if out, err := s.shell(ctx, t, "kubectl delete --ignore-not-found --grace-period=5 --timeout=60s -f "+file); err != nil &&
			sample.Refused == "" {
			t.Errorf("%v\n%s", err, out)
		}
	})

	out, err := s.shell(t.Context(), t, "kubectl apply -f "+file)
	switch {
	case sample.Refused == "" && err != nil:
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	case sample.Refused != "" && err == nil:
		t.Fatalf("it was taken, and should be refused as %q:\n%s", sample.Refused, out)
	case sample.Refused != "" && !regexp.MustCompile("(?s)"+sample.Refused).MatchString(out):
		t.Fatalf("it was refused otherwise than as %q:\n%s", sample.Refused, out)
	}
}

// shell runs a command line as the operator would.
func (s sampler) shell(ctx context.Context, t *testing.T, line string) (string, error) {
	t.Helper()
	args := s.on("sh", "-c", line)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(s.env(), "PATH="+s.tools+":"+s.bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs a step once.
func (s sampler) run(ctx context.Context, t *testing.T, step documents.Step) (string, error) {
	t.Helper()
	switch step.On {
	case documents.NodePowerShell:
		return s.mullion(ctx, t, "node", "exec", s.node, "--", "powershell", "-Command", step.Run)
	case documents.NodeCmd:
		return s.mullion(ctx, t, "node", "exec", s.node, "--", "cmd", "/c", step.Run)
	case documents.PodPowerShell:
		return s.mullion(ctx, t, "kubectl", "exec", step.Pod, "--", "powershell", "-Command", step.Run)
	case documents.PodCmd:
		return s.mullion(ctx, t, "kubectl", "exec", step.Pod, "--", "cmd", "/c", step.Run)
	default:
		return s.shell(ctx, t, step.Run)
	}
}

// see repeats a step until what must be seen is seen.
func (s sampler) see(t *testing.T, step documents.Step) {
	t.Helper()
	want := regexp.MustCompile("(?s)" + step.Want)
	poll(t, settle, func(ctx context.Context) error {
		out, err := s.run(ctx, t, step)
		out = strings.ReplaceAll(out, "\x00", "") // nssm writes UTF-16 to a pipe too
		switch {
		case (err != nil) != step.Fails:
			return errors.Join(fmt.Errorf("%s: %s: it fails: %v, want %v", step.On, step.Run, err != nil, step.Fails), err, errors.New(out))
		case !want.MatchString(out):
			return fmt.Errorf("%s: %s: lacks %q:\n%s", step.On, step.Run, step.Want, out)
		}
		return nil
	})
}

// record stores what came out of a sample among the documents, if MULLION_DOCUMENTS_RECORD is set.
func (s sampler) record(t *testing.T, sample documents.Sample, took time.Duration) {
	t.Helper()
	if os.Getenv("MULLION_DOCUMENTS_RECORD") == "" {
		return
	}
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(built.Repository(), "docs", "compat", "documents")
	results, err := documents.ReadResults(dir)
	if err != nil {
		t.Fatal(err)
	}

	results.Put(documents.Outcome{
		ID:         sample.ID,
		Date:       time.Now().UTC().Format(time.DateOnly),
		Commit:     strings.TrimSpace(string(commit)),
		Kubernetes: s.version,
		Seen:       !t.Failed(),
		Seconds:    took.Round(100 * time.Millisecond).Seconds(),
	})

	if err := results.Write(dir); err != nil {
		t.Fatal(err)
	}
}
