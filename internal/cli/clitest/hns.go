package clitest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	hnsserver "mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/node/agent/admin"
)

// HNS is that of the machine's Windows node.
type HNS struct {
	*hnsserver.Service
	// Kernel is the network that HNS makes, Level how much the node's agent logs.
	Kernel *dataplane.Fake
	Level  *logging.Dial
	// Agent reaches the node's agent.
	Agent func(layout.Paths, string) (*admin.Client, error)
}

// Close closes nothing: it is a connection to a service in this process.
func (HNS) Close() error { return nil }

// ServeHNS gives the Windows node an HNS: the real service, in front of a network that is only remembered, and the
// agent's API on a socket. It has a switch, a pod's endpoint and a load balancer.
func (m *Machine) ServeHNS() HNS {
	m.T.Helper()
	m.Host()
	kernel := &dataplane.Fake{}
	quiet := slog.New(slog.DiscardHandler)
	service, err := hnsserver.Open(m.T.Context(), hnsserver.Config{
		Model:     hns.Config{Version: wire.Version{Major: 15}, Adapters: []string{"Ethernet"}},
		Store:     hnsserver.FileStore{Path: filepath.Join(m.Paths.Data, "hns.json")},
		DataPlane: kernel,
		Log:       quiet,
	})
	if err != nil {
		m.T.Fatal(err)
	}

	create := func(function, object, text string) string {
		reply, err := service.Call(m.T.Context(), hns.Request{
			Function: function,
			Object:   object,
			Text:     []string{text},
		})
		if err != nil {
			m.T.Fatalf("%s: %v", function, err)
		}

		return reply.Object
	}

	network := create("HcnCreateNetwork", "", `{"Name": "cbr0", "Type": "L2Bridge", "SchemaVersion": {"Major": 2},
		"Policies": [{"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "Ethernet"}}],
		"Ipams": [{"Type": "Static", "Subnets": [{"IpAddressPrefix": "10.244.0.0/24",
			"Routes": [{"NextHop": "10.244.0.1", "DestinationPrefix": "0.0.0.0/0"}]}]}]}`)

	endpoint := create("HcnCreateEndpoint", network, `{"Name": "web", "SchemaVersion": {"Major": 2},
		"HostComputeNetwork": "`+network+`", "IpConfigurations": [{"IpAddress": "10.244.0.5", "PrefixLength": 24}]}`)
	create("HcnCreateLoadBalancer", "", `{"SchemaVersion": {"Major": 2}, "HostComputeEndpoints": ["`+endpoint+`"],
		"FrontendVIPs": ["10.96.0.10"],
		"PortMappings": [{"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80}]}`)
	service.Flush(m.T.Context())

	dir, err := os.MkdirTemp("", "agent") // the path of a socket has to be short
	if err != nil {
		m.T.Fatal(err)
	}

	ctx, cancel := context.WithCancel(m.T.Context())
	level := logging.NewDial(logging.Info)
	looked := admin.Agent{
		HNS:   service,
		Level: level,
		Log:   quiet,
	}

	served := make(chan error, 1)
	go func() { served <- admin.Serve(ctx, admin.Socket(dir), looked) }()
	m.awaitFile(admin.Socket(dir))
	m.T.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, os.RemoveAll(dir)); err != nil {
			m.T.Error(err)
		}
	})

	return HNS{
		Service: service,
		Kernel:  kernel,
		Level:   level,
		Agent:   func(layout.Paths, string) (*admin.Client, error) { return admin.NewClient(admin.Socket(dir)), nil },
	}
}

// awaitFile waits until a file is there.
func (m *Machine) awaitFile(path string) {
	m.T.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()

	give := time.After(10 * time.Second)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-give:
			m.T.Fatalf("%s is not there", path)
		case <-tick.C:
		}
	}
}
