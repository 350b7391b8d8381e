package compute_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/node/agent/compute"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/jobobject"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// source has the containers "a" and "b"; "b" ends while it is measured.
type source struct{}

func (source) ComputeSystems() []cri.ComputeSystem {
	return []cri.ComputeSystem{{ID: "a", Started: start}, {ID: "b", Started: start}, {ID: "v@vm", Started: start, Machine: true}}
}

func (source) ComputeUsage(_ context.Context, id string) (engine.Usage, error) {
	if id != "a" {
		return engine.Usage{}, errors.New("it does not run")
	}
	return engine.Usage{
		At:         start.Add(2 * time.Second),
		CPU:        3 * time.Second,
		User:       2 * time.Second,
		Kernel:     time.Second,
		WorkingSet: 30,
		Commit:     40,
		Reads:      engine.Transfers{Count: 5, Bytes: 50},
		Writes:     engine.Transfers{Count: 6, Bytes: 60},
	}, nil
}

func (source) ComputeTraffic(_ context.Context, id string) cri.NetworkStats {
	if id != "a" {
		return cri.NetworkStats{}
	}
	return cri.NetworkStats{At: start, Interfaces: []cri.InterfaceStats{
		{Name: "eth0", Endpoint: "e", RxBytes: 70, TxBytes: 80, RxDropped: 1, TxDropped: 2},
	}}
}

func (source) JobObject(id string) (jobobject.Limits, error) {
	if id != "a" {
		return jobobject.Limits{}, errors.New("it is not there")
	}
	return jobobject.Limits{CPURate: 1000, Affinity: []jobobject.GroupAffinity{{Mask: 0b11}}}, nil
}

// object decodes an answer.
func object(t *testing.T, answer hns.Reply) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(answer.Text), &value); err != nil {
		t.Fatalf("answer %q: %v", answer.Text, err)
	}
	return value
}

func TestEnumerate(t *testing.T) {
	for name, tt := range map[string]struct {
		query string
		want  []string
	}{
		"no query":           {"", []string{"a", "b", "v@vm"}},
		"windows_exporter's": {`{"Types":["Container"]}`, []string{"a", "b"}},
		"machines":           {`{"Types":["VirtualMachine"]}`, []string{"v@vm"}},
		"one":                {`{"Ids":["b"]}`, []string{"b"}},
		"none":               {`{"Types":["Process"]}`, nil},
	} {
		answer, err := compute.Call(t.Context(), source{}, compute.Enumerate, []string{tt.query})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		var ids []string
		for _, one := range object(t, answer).([]any) {
			ids = append(ids, one.(map[string]any)["Id"].(string))
			if owner := one.(map[string]any)["Owner"]; owner != "containerd-shim-runhcs-v1.exe" {
				t.Errorf("%s: owner %q", name, owner)
			}
		}

		if diff := cmp.Diff(tt.want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStatistics(t *testing.T) {
	answer, err := compute.Call(t.Context(), source{}, compute.Properties,
		[]string{"a", `{"PropertyTypes":["Statistics"]}`})
	if err != nil {
		t.Fatal(err)
	}

	want := map[string]any{
		"Timestamp": "2026-01-01T00:00:02Z", "ContainerStartTime": "2026-01-01T00:00:00Z", "Uptime100ns": 2e7,
		"Memory":    map[string]any{"MemoryUsageCommitBytes": 40.0, "MemoryUsagePrivateWorkingSetBytes": 30.0},
		"Processor": map[string]any{"TotalRuntime100ns": 3e7, "RuntimeUser100ns": 2e7, "RuntimeKernel100ns": 1e7},
		"Storage": map[string]any{
			"ReadCountNormalized": 5.0, "ReadSizeBytes": 50.0, "WriteCountNormalized": 6.0, "WriteSizeBytes": 60.0,
		},
		"Network": []any{map[string]any{
			"EndpointId": "e", "BytesReceived": 70.0, "BytesSent": 80.0,
			"DroppedPacketsIncoming": 1.0, "DroppedPacketsOutgoing": 2.0,
		}},
	}

	if diff := cmp.Diff(want, object(t, answer).(map[string]any)["Statistics"]); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
	answer, err = compute.Call(t.Context(), source{}, compute.Properties, []string{"a", ""})
	if err != nil {
		t.Fatal(err)
	}

	if _, there := object(t, answer).(map[string]any)["Statistics"]; there {
		t.Errorf("statistics that nobody asked for: %s", answer.Text)
	}
}

func TestJobObject(t *testing.T) {
	for name, tt := range map[string]struct {
		class string
		want  []byte
	}{
		"there":      {"", nil},
		"affinities": {"14", []byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		"rate":       {"15", []byte{5, 0, 0, 0, 0xe8, 3, 0, 0}},
		"memory":     {"28", []byte{40, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0}},
	} {
		got, err := compute.Call(t.Context(), source{}, compute.QueryJob, []string{"A", tt.class}) // names know no case
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(hns.Reply{Raw: tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		function string
		text     []string
		want     wire.HRESULT
	}{
		"unknown container":              {compute.Properties, []string{"c", ""}, compute.NotFound},
		"container that ended":           {compute.Properties, []string{"b", `{"PropertyTypes":["Statistics"]}`}, compute.NotFound},
		"job of an unknown container":    {compute.QueryJob, []string{"c", ""}, compute.NotFound},
		"job of a container that ended":  {compute.QueryJob, []string{"b", "1"}, compute.NotFound},
		"job's class that is not there":  {compute.QueryJob, []string{"a", "3"}, wire.ENotImpl},
		"job's class that is no number":  {compute.QueryJob, []string{"a", "x"}, wire.EInvalidArg},
		"job's class that is too great":  {compute.QueryJob, []string{"a", "99999999999"}, wire.EInvalidArg},
		"job without a container's name": {compute.QueryJob, []string{"", ""}, compute.NotFound},
		"other property":                 {compute.Properties, []string{"a", `{"PropertyTypes":["ProcessList"]}`}, wire.ENotImpl},
		"no document":                    {compute.Enumerate, []string{"{"}, wire.EInvalidArg},
		"other function":                 {"HcsCreateComputeSystem", []string{"a", "{}"}, wire.ENotImpl},
		"texts missing":                  {compute.Properties, []string{"a"}, wire.ENotImpl},
	} {
		_, err := compute.Call(t.Context(), source{}, tt.function, tt.text)
		if !errors.Is(err, &wire.Error{Code: tt.want}) {
			t.Errorf("%s: %v, want %#x", name, err, uint32(tt.want))
		}
	}
}
