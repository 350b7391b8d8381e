package view

import (
	"time"

	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// Cluster is what the cluster is, without passwords.
type Cluster struct {
	Spec spec.Cluster `json:"spec"`
	// Server and Authority are the API server's URL on this machine and its authority's certificate (PEM), by which a
	// kubeconfig of an earlier cluster of that name is known; "" on a machine that joined another's.
	Server    string `json:"server,omitempty"`
	Authority []byte `json:"authority,omitempty"`
}

// Status is how the cluster is.
type Status struct {
	At           time.Time          `json:"at"`
	Health       health.Picture     `json:"health"`
	Cluster      spec.Cluster       `json:"cluster"`
	CgroupParent string             `json:"cgroupParent"`
	Supervisor   *supervisor.Status `json:"supervisor"`
	// SupervisorError is why the supervisor did not answer, APIError why the API server did not.
	SupervisorError string `json:"supervisorError,omitempty"`
	APIError        string `json:"apiError,omitempty"`
}
