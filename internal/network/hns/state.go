package hns

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// stateVersion is the version of the saved state's format: a first line with the version, then one line for each call
// that changed something, with the objects that it changed, and what it was answered. Version 1 was one document with
// all objects.
const stateVersion = 2

type header struct {
	Version  int        `json:"version"`
	Answered []Answered `json:"answered,omitempty"`
}

// Save returns the whole state, which Load reads.
func (m *Model) Save() ([]byte, error) {
	first, err := json.Marshal(header{Version: stateVersion, Answered: m.answered.all()})
	data := append(first, '\n')
	for _, k := range m.kinds {
		for _, id := range m.tables[k].all() {
			rec, recErr := m.tables[k].record(id)
			data, err = appendLine(data, []Record{rec}), errors.Join(err, recErr)
		}
	}
	return data, err
}

// Line returns the line for what one call changed; it is appended to what Save returned.
func Line(records []Record) []byte { return appendLine(nil, records) }

// appendLine writes the records as JSON; their objects are JSON already, and their kinds and IDs need no quoting.
func appendLine(data []byte, records []Record) []byte {
	data = append(data, '[')
	for i, r := range records {
		if i > 0 {
			data = append(data, ',')
		}
		data = fmt.Appendf(data, "{\"kind\":%q,\"id\":%q", r.Kind, r.ID)
		if r.Object != nil {
			data = append(append(data, ",\"object\":"...), r.Object...)
		}
		if r.Answered != nil {
			answered, err := json.Marshal(r.Answered)
			if err == nil { // of plain texts there is none
				data = append(append(data, ",\"answered\":"...), answered...)
			}
		}
		data = append(data, '}')
	}

	return append(data, "]\n"...)
}

// Load returns a model with the state that Save returned and the lines after it. An incomplete last line is ignored:
// its call was never answered.
func Load(cfg Config, data []byte) (*Model, error) {
	m := empty(cfg)
	var h header
	first, rest, whole := bytes.Cut(data, []byte("\n"))
	if err := json.Unmarshal(first, &h); err != nil {
		return nil, fmt.Errorf("read HNS state: %w", err)
	}

	var err error
	switch {
	case h.Version == 1:
		err = m.readVersion1(data)
	case h.Version == stateVersion && !whole:
		err = errors.New("the first line is cut off")
	case h.Version == stateVersion:
		for _, one := range h.Answered {
			m.answered.keep(one)
		}
		err = m.readLines(rest)
	default:
		err = fmt.Errorf("version %d, this program knows %d", h.Version, stateVersion)
	}

	if err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, fmt.Errorf("read HNS state: %w", err)
	}
	m.ensureHostNamespace()
	m.Commit()

	return m, nil
}

func (m *Model) readLines(data []byte) error {
	r := bufio.NewReader(bytes.NewReader(data))
	for n := 2; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}

		var records []Record
		if err := json.Unmarshal(line, &records); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		for _, rec := range records {
			if err := m.apply(rec); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
			if rec.Answered != nil {
				m.answered.keep(*rec.Answered)
			}
		}
	}
}

func (m *Model) apply(rec Record) error {
	if id, err := canonical(rec.ID); err != nil || id != rec.ID {
		return fmt.Errorf("%.64q is no ID", rec.ID)
	}
	t, known := m.tables[Kind(rec.Kind)]
	if !known {
		return fmt.Errorf("kind of object %.64q", rec.Kind)
	}
	return t.load(rec)
}

func (m *Model) readVersion1(data []byte) error {
	var s struct {
		Networks, Endpoints, Namespaces, LoadBalancers, Routes []json.RawMessage
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}

	for k, objects := range map[Kind][]json.RawMessage{
		Networks:      s.Networks,
		Endpoints:     s.Endpoints,
		Namespaces:    s.Namespaces,
		LoadBalancers: s.LoadBalancers,
		SdnRoutes:     s.Routes,
	} {
		for _, o := range objects {
			var named struct{ ID string }
			if err := json.Unmarshal(o, &named); err != nil {
				return err
			}

			if err := m.apply(Record{
				Kind:   string(k),
				ID:     named.ID,
				Object: o,
			}); err != nil {
				return err
			}
		}
	}

	return nil
}

// check returns an error if an object refers to one that does not exist, so that a damaged file is an error now and not
// a crash later.
func (m *Model) check() error {
	for id, e := range m.endpoints.objects {
		if !m.networks.has(e.HostComputeNetwork) {
			return fmt.Errorf("endpoint %s is on network %q, which is not there", id, e.HostComputeNetwork)
		}
		if e.HostComputeNamespace != "" && !m.namespaces.has(e.HostComputeNamespace) {
			return fmt.Errorf("endpoint %s is in namespace %q, which is not there", id, e.HostComputeNamespace)
		}
	}

	for id, lb := range m.loadBalancers.objects {
		for _, e := range lb.HostComputeEndpoints {
			if !m.endpoints.has(e) {
				return fmt.Errorf("load balancer %s sends to endpoint %q, which is not there", id, e)
			}
		}
	}

	for id, n := range m.namespaces.objects {
		for _, r := range n.Resources {
			if e := m.endpoints.objects[r.Data.ID]; r.Type == wire.ResourceEndpoint &&
				(e == nil || e.HostComputeNamespace != id) {
				return fmt.Errorf("namespace %s holds endpoint %q, which is not in it", id, r.Data.ID)
			}
		}
	}

	return nil
}
