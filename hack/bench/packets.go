package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// throughput is how long each connection is filled.
const throughput = 2 * time.Second

// packets measures TCP between pods' network namespaces without Windows programs at the ends: that is what the network
// itself can carry.
func (b *bench) packets(ctx context.Context) ([]figure, error) {
	same := figure{what: "TCP between two pods of a node", unit: "Gbit/s"}
	across := figure{what: "TCP between pods of two nodes", unit: "Gbit/s"}
	var pods strings.Builder
	for i, node := range []string{"win-1", "win-1", "win-2"} {
		pods.WriteString(fmt.Sprintf(onNode(podSpec, node), fmt.Sprintf("packets-%d", i)) + "\n")
	}

	if err := b.mullion(ctx, pods.String(), "kubectl", "create", "-f", "-"); err != nil {
		return nil, err
	}
	if err := b.mullion(ctx, "", "kubectl", "wait", "--for=condition=Ready", "pod/packets-0", "pod/packets-1",
		"pod/packets-2", "--timeout=180s"); err != nil {
		return nil, err
	}

	one, err := b.podPlaces(ctx, "win-1")
	if err != nil {
		return nil, err
	}

	two, err := b.podPlaces(ctx, "win-2")
	if err != nil {
		return nil, err
	}
	if len(one) < 2 || len(two) < 1 {
		return nil, fmt.Errorf("%d and %d pods on the nodes, two and one are needed", len(one), len(two))
	}

	for range b.runs {
		for _, m := range []struct {
			f  *figure
			to place
		}{{&same, one[1]}, {&across, two[0]}} {
			rate, err := gigabits(one[0], m.to)
			if err != nil {
				return nil, err
			}
			m.f.values = append(m.f.values, rate)
		}
	}

	return []figure{same, across}, nil
}

// onNode puts a pod on a node.
func onNode(pod, node string) string {
	return strings.Replace(pod, `"nodeSelector":{"kubernetes.io/os":"windows"}`, `"nodeName":"`+node+`"`, 1)
}

// place is a pod's namespace and address.
type place struct{ netns, address string }

func (b *bench) podPlaces(ctx context.Context, node string) ([]place, error) {
	client, err := cluster.HNS(ctx, b.paths(), node)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	endpoints, err := hcn.List[wire.Endpoint](ctx, client, hcn.Endpoint)
	if err != nil {
		return nil, err
	}

	var all []place
	for _, e := range endpoints {
		path := filepath.Join(b.paths().Run(), "nodes", node, "netns", e.HostComputeNamespace)
		if there, err := netns.Exists(path); err == nil && there && e.HostComputeNamespace != "" {
			all = append(all, place{path, e.IpConfigurations[0].IpAddress})
		}
	}

	return all, nil
}

// gigabits fills one connection and returns what arrived a second.
func gigabits(from, to place) (float64, error) {
	var l net.Listener
	err := netns.Do(to.netns, func() error {
		var err error
		l, err = net.Listen("tcp4", net.JoinHostPort(to.address, "0"))
		return err
	})
	if err != nil {
		return 0, err
	}

	defer l.Close()

	var conn net.Conn
	err = netns.Do(from.netns, func() error {
		var err error
		conn, err = net.DialTimeout("tcp4", l.Addr().String(), 10*time.Second)
		return err
	})
	if err != nil {
		return 0, err
	}

	defer conn.Close()

	end := time.Now().Add(throughput)
	go func() {
		block := make([]byte, 256<<10)
		for time.Now().Before(end) {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
		_ = conn.Close()
	}()

	in, err := l.Accept()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	started := time.Now()
	n, err := io.Copy(io.Discard, in)
	return float64(n) * 8 / time.Since(started).Seconds() / 1e9, err
}
