// Package component owns the lifecycle contract of the parts a cluster is made of, and the manager that starts them in
// dependency order and stops them in reverse. It does not know what the parts do.
//
//	      Start ok              Stop
//	new ──────────▶ ready ──────────────▶ stopped
//	 │ Start error                          ▲
//	 └──────────────▶ failed ───────────────┘  (Stop is called on every unit whose Start was called)
package component

import "context"

// Component is one part of a cluster: a child process, a namespace, a mount, a set of files.
type Component interface {
	// ID is the part's own in a cluster. Its text names the log file, for example "kube-apiserver" or "kubelet/win-1".
	ID() ID
	// Start brings the part up and returns when it is ready to be used. ctx bounds the start only, not the life of the
	// part. If the part exists already (after a crash of the supervisor), Start takes it over or replaces it.
	Start(ctx context.Context) error
	// Stop ends the part and removes what Start made. It may be called on a part that never started.
	Stop(ctx context.Context) error
}

// Prober is a component that can be asked whether it works at this moment.
type Prober interface {
	// Probe returns nil, or why the part cannot be used. It changes nothing, and returns when ctx is over at the
	// latest.
	Probe(ctx context.Context) error
}

// Describer is a component that has more to say of itself than its state.
type Describer interface {
	// Describe returns one line, at once.
	Describe() string
}

// Unit is a component with the units that must be ready before its Start is called.
type Unit struct {
	Component
	After []ID
}
