package hns

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"mullion.dev/mullion/internal/hns/wire"
)

// stateVersion is the version of the saved state's shape.
const stateVersion = 1

type state struct {
	Version       int                  `json:"version"`
	Networks      []*network           `json:"networks"`
	Endpoints     []*endpoint          `json:"endpoints"`
	Namespaces    []*namespace         `json:"namespaces"`
	LoadBalancers []*wire.LoadBalancer `json:"loadBalancers"`
	Routes        []*wire.SdnRoute     `json:"routes"`
}

// Save is the whole state as JSON.
func (m *Model) Save() ([]byte, error) {
	s := state{Version: stateVersion}
	for _, id := range m.ids(networks) {
		s.Networks = append(s.Networks, m.networks[id])
	}
	for _, id := range m.ids(endpoints) {
		s.Endpoints = append(s.Endpoints, m.endpoints[id])
	}
	for _, id := range m.ids(namespaces) {
		s.Namespaces = append(s.Namespaces, m.namespaces[id])
	}
	for _, id := range m.ids(loadBalancers) {
		s.LoadBalancers = append(s.LoadBalancers, m.loadBalancers[id])
	}
	for _, id := range m.ids(sdnRoutes) {
		s.Routes = append(s.Routes, m.routes[id])
	}
	return json.Marshal(s)
}

// Load is a model with the state that Save returned.
func Load(cfg Config, data []byte) (*Model, error) {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read HNS state: %w", err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("read HNS state: version %d, this program knows %d", s.Version, stateVersion)
	}
	if slices.Contains(s.Networks, nil) || slices.Contains(s.Endpoints, nil) || slices.Contains(s.Namespaces, nil) ||
		slices.Contains(s.LoadBalancers, nil) || slices.Contains(s.Routes, nil) {
		return nil, errors.New("read HNS state: an object in it is null")
	}
	m := New(cfg)
	clear(m.namespaces)
	for _, n := range s.Networks {
		m.networks[n.ID] = n
	}
	for _, e := range s.Endpoints {
		m.endpoints[e.ID] = e
	}
	for _, n := range s.Namespaces {
		m.namespaces[n.ID] = n
	}
	for _, l := range s.LoadBalancers {
		m.loadBalancers[l.ID] = l
	}
	for _, r := range s.Routes {
		m.routes[r.ID] = r
	}
	m.ensureHostNamespace()
	m.Commit()
	return m, m.check()
}

// check looks for references into nothing, so that a damaged file is an error and not a crash later.
func (m *Model) check() error {
	for id, e := range m.endpoints {
		if m.networks[e.HostComputeNetwork] == nil {
			return fmt.Errorf("read HNS state: endpoint %s is on network %q, which is not there", id, e.HostComputeNetwork)
		}
		if e.HostComputeNamespace != "" && m.namespaces[e.HostComputeNamespace] == nil {
			return fmt.Errorf("read HNS state: endpoint %s is in namespace %q, which is not there", id, e.HostComputeNamespace)
		}
	}
	for id, lb := range m.loadBalancers {
		for _, e := range lb.HostComputeEndpoints {
			if m.endpoints[e] == nil {
				return fmt.Errorf("read HNS state: load balancer %s sends to endpoint %q, which is not there", id, e)
			}
		}
	}
	return nil
}
