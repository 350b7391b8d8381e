package hns

import "time"

// Repairs are what a service has put right of a host's network, which others had changed, since it started.
type Repairs struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last,omitzero"`
	// Found is how the network differed the last time, a line each.
	Found []string `json:"found,omitempty"`
}
