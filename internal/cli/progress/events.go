package progress

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"mullion.dev/mullion/internal/cli/exit"
)

// Types of events; the help of `mullion up` says what each is.
const (
	typeUnit    = "unit"
	typeStep    = "step"
	typeWaiting = "waiting"
	Warning     = "warning"
	typeError   = "error"
	typeCluster = "cluster"
	Plan        = "plan"
)

// Event is a line of `mullion up -o json`. What it is about is in one of the fields below the type.
type Event struct {
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
	*Cluster
}

// Cluster is what the last event says of the cluster.
type Cluster struct {
	Name              string `json:"name"`
	KubernetesVersion string `json:"kubernetesVersion"`
	Nodes             []Node `json:"nodes"`
	// Kubeconfig and Context are how to reach it; a plan has neither.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
	// URL is where the sample answers on this machine.
	URL string `json:"url,omitempty"`
	// Registry is the cluster's registry of images as their names have it, "localhost:5001".
	Registry string `json:"registry,omitempty"`
}

// Node is a node in the last event.
type Node struct {
	Name    string `json:"name"`
	OS      string `json:"os"`
	Address string `json:"address"`
	// WindowsVersion is a name such as ltsc2025, Build what it answers to programs.
	WindowsVersion    string `json:"windowsVersion,omitempty"`
	Build             string `json:"build,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion"`
	// Product is the version for people.
	Product string `json:"-"`
}

// text returns what a person is told of the node.
func (n Node) text() string { return n.Product + ", " + n.Address }

// events writes events, one a line.
type events struct {
	out io.Writer
	now func() time.Time

	mu sync.Mutex
}

func (e *events) emit(what Event) {
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
	what := Event{
		Type:    typeError,
		Message: err.Error(),
		Code:    exit.Code(err),
	}
	if own, ok := errors.AsType[*exit.Error](err); ok {
		what.Remedy = own.Remedy
	}
	e.emit(what)
}
