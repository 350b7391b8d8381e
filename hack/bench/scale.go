package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/process/proc"
)

const (
	many   = 100 // pods on one node
	crowd  = 20  // nodes
	stays  = 10 * time.Minute
	looks  = 10 * time.Second
	toCome = 15 * time.Minute // for what takes long on a small machine
)

// resolves waits until the cluster's DNS, asked by way of its Service on the Linux node, answers for the name that
// every cluster has.
func (b *bench) resolves(ctx context.Context) error {
	dial := proc.DialIn(filepath.Join(b.paths().Run(), "netns", "linux-1"))
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, network, "10.98.0.10:53")
	}}
	return until(ctx, time.Minute, asksEvery, func() bool {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		addresses, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
		return err == nil && len(addresses) == 1 && addresses[0] == "10.98.0.1"
	})
}

// hundred measures many pods on one node: the time from their creation until the last one is Ready, and the memory of
// each.
func (b *bench) hundred(ctx context.Context) ([]figure, error) {
	all := figure{
		what:  fmt.Sprintf("%d Windows pods on one node, created to all Ready", many),
		asked: "≤ 150 s",
		unit:  "s",
	}

	each := figure{
		what:  fmt.Sprintf("each of %d idle Windows pods on one node, PSS", many),
		asked: "≤ 40 MB",
		unit:  "MB",
	}

	_, before, err := b.resident()
	if err != nil {
		return nil, err
	}
	var pods strings.Builder
	for i := range many {
		fmt.Fprintf(&pods, onNode(podSpec, "win-1")+"\n", fmt.Sprintf("many-%d", i))
	}

	started := time.Now()
	if err := b.mullion(ctx, pods.String(), "kubectl", "create", "-f", "-"); err != nil {
		return nil, err
	}
	if err := b.mullion(ctx, "", "kubectl", "wait", "--for=condition=Ready", "pod", "-l", "app=bench",
		"--timeout="+toCome.String()); err != nil {
		return nil, err
	}

	all.values = append(all.values, time.Since(started).Seconds())
	_, with, err := b.resident()
	if err != nil {
		return []figure{all}, err
	}
	each.values = append(each.values, (with-before)/many/1e6)
	err = b.mullion(ctx, "", "kubectl", "delete", "pod", "-l", "app=bench", "--wait=true", "--timeout="+toCome.String())
	return []figure{all, each}, err
}

const crowdSpec = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-bench-crowd
networking: {underlaySubnet: 10.215.0.0/24, podSubnet: 10.246.0.0/16, serviceSubnet: 10.98.0.0/16}
nodes: [{windowsVersion: ltsc2022, count: %d}]
`

// twenty takes the cluster down and measures a cluster of many nodes: how long it takes to come up, its memory, and how
// often in ten minutes `mullion status` finds a problem.
func (b *bench) twenty(ctx context.Context) ([]figure, error) {
	up := figure{what: fmt.Sprintf("cold up of %d Windows nodes, all Ready", crowd), unit: "s"}
	memory := figure{
		what:  fmt.Sprintf("%d Windows nodes, PSS of all processes", crowd),
		asked: "≤ 24 GiB",
		unit:  "GiB",
	}

	unwell := figure{
		what:  fmt.Sprintf("of %d looks in %s, those that found it unwell", int(stays/looks), stays),
		asked: "0",
		unit:  "looks",
	}
	if err := b.mullion(ctx, "", "down", "--kubeconfig", "none"); err != nil {
		return nil, err
	}

	took, err := b.timed(ctx, fmt.Sprintf(crowdSpec, crowd), "up", "-f", "-", "--kubeconfig", "none", "--wait",
		toCome.String(), "--retain")
	if err != nil {
		return nil, err
	}
	up.values = append(up.values, took)
	bad := 0.0
	tick := time.NewTicker(looks)
	defer tick.Stop()

	for end := time.Now().Add(stays); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return []figure{up}, ctx.Err()
		case <-tick.C:
		}

		found, err := b.findings(ctx)
		if err != nil {
			return []figure{up}, err
		}
		if len(found) > 0 {
			bad++
			fmt.Fprintf(b.log, "%s unwell: %s\n", time.Now().Format(time.TimeOnly), strings.Join(found, "; "))
		}
	}

	unwell.values = append(unwell.values, bad)
	_, pss, err := b.resident()
	memory.values = append(memory.values, pss/(1<<30))
	return []figure{up, memory, unwell}, err
}

// findings returns the problems that `mullion status` finds.
func (b *bench) findings(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(b.bin, "mullion"), "--data-dir", b.data, "status", "-o",
		"json").Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return nil, err
	}

	var report struct {
		Health struct {
			Findings []struct{ Severity, Object, What string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("read mullion status: %w", err)
	}

	var found []string
	for _, f := range report.Health.Findings {
		if f.Severity == "problem" {
			found = append(found, f.Object+": "+f.What)
		}
	}

	return slices.Clip(found), nil
}
