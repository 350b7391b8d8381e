package hns

import "time"

// Repairs are what a service has put right of a host's network, which others had changed, since it started.
type Repairs struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last,omitzero"`
	// Found is how the network differed the last time, a line each.
	Found []string `json:"found,omitempty"`
}

// Own is what a service has done by itself, unasked by a program.
type Own struct {
	// Repairs are what it put right.
	Repairs Repairs `json:"repairs"`
	// Withheld is what it does not carry out, since it would take the host's kubelet from the control plane.
	Withheld []string `json:"withheld,omitempty"`
}
