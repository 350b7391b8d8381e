package cli

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"sync"
	"time"
)

// Types of events; the help of `mullion up` says what each is.
const (
	eventUnit    = "unit"
	eventStep    = "step"
	eventWaiting = "waiting"
	eventWarning = "warning"
	eventError   = "error"
	eventCluster = "cluster"
	eventPlan    = "plan"
)

// event is a line of `mullion up -o json`. What it is about is in one of the fields below the type.
type event struct {
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	// Unit is a part of the cluster, a step of the command, or what a warning is about; Node is the node that it
	// belongs to.
	Unit    string  `json:"unit,omitempty"`
	Node    string  `json:"node,omitempty"`
	State   string  `json:"state,omitempty"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message,omitempty"`
	Remedy  string  `json:"remedy,omitempty"`
	// Code is the exit code that an error leads to.
	Code int `json:"code,omitempty"`
	*clusterEvent
}

// clusterEvent is what the last event says of the cluster.
type clusterEvent struct {
	Name              string      `json:"name"`
	KubernetesVersion string      `json:"kubernetesVersion"`
	Nodes             []nodeEvent `json:"nodes"`
	// Kubeconfig and Context are how to reach it; a plan has neither.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
	// URL is where the sample answers on this machine.
	URL string `json:"url,omitempty"`
}

// nodeEvent is a node in the last event.
type nodeEvent struct {
	Name    string `json:"name"`
	OS      string `json:"os"`
	Address string `json:"address"`
	// WindowsVersion is a name such as ltsc2025, Build what it answers to programs.
	WindowsVersion    string `json:"windowsVersion,omitempty"`
	Build             string `json:"build,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion"`
	// product is the version for people.
	product string
}

// text returns what a person is told of the node.
func (n nodeEvent) text() string { return n.product + ", " + n.Address }

// events writes events, one a line.
type events struct {
	out io.Writer
	now func() time.Time

	mu sync.Mutex
}

func (e *events) emit(what event) {
	what.Time = e.now().UTC().Truncate(time.Millisecond)
	what.Seconds = math.Round(what.Seconds*1000) / 1000
	line, err := json.Marshal(what)
	if err != nil {
		return // an event is plain data
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.out.Write(append(line, '\n')) // there is nobody to tell
}

// failed emits the error that ends the command.
func (e *events) failed(err error) {
	what := event{
		Type:    eventError,
		Message: err.Error(),
		Code:    ExitCode(err),
	}
	if own, ok := errors.AsType[*Error](err); ok {
		what.Remedy = own.Remedy
	}
	e.emit(what)
}
