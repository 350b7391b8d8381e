package store

import (
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/windows/sam"
)

// Sandbox is a pod.
type Sandbox struct {
	ID string `json:"id"`
	// Config is what the kubelet asked for.
	Config SandboxConfig `json:"config"`
	// Handler is the runtime handler asked for.
	Handler string `json:"handler,omitempty"`
	// PauseImage is the image of the pod's pause container, as the node's configuration names it; empty: it has none.
	PauseImage string `json:"pauseImage,omitempty"`
	// NetNS is the path of the pod's network namespace; empty once the network is torn down.
	NetNS string `json:"netns,omitempty"`
	// IPs are the pod's addresses, the primary one first.
	IPs []string `json:"ips,omitempty"`

	CreatedAt time.Time `json:"createdAt"`
	StoppedAt time.Time `json:"stoppedAt,omitzero"`
	// Ready is false while RunPodSandbox is still at work. A pod that a crash leaves in this state is taken down.
	Ready bool `json:"ready"`
}

// State is derived.
func (s Sandbox) State() runtimeapi.PodSandboxState {
	if s.Ready && s.StoppedAt.IsZero() {
		return runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return runtimeapi.PodSandboxState_SANDBOX_NOTREADY
}

// Container is a container of a pod.
type Container struct {
	ID        string `json:"id"`
	SandboxID string `json:"sandboxId"`
	// Config is what the kubelet asked for.
	Config ContainerConfig `json:"config"`
	// ImageID is the id of the image in use, ImageName how it was asked for.
	ImageID   string `json:"imageId"`
	ImageName string `json:"imageName"`
	// HostProcess says that the container runs in the Windows host.
	HostProcess bool `json:"hostProcess,omitempty"`
	// User is the Windows user that the program runs as.
	User string `json:"user"`
	// Account is the account of the image that the user is; nil: the user is none of the image's.
	Account *sam.Account `json:"account,omitempty"`
	// Program is the Windows command line, one argument each; Env and Dir are the program's.
	Program []string `json:"program"`
	// Raw says that Program is one element, a whole command line that Windows splits itself.
	Raw bool     `json:"raw,omitempty"`
	Env []string `json:"env"`
	Dir string   `json:"dir"`
	// LogPath is where the log lies on the machine; empty means that nothing is logged.
	LogPath string `json:"logPath,omitempty"`
	// NodeLogPath is the same file as the kubelet names it, on the Windows host's C:.
	NodeLogPath string `json:"nodeLogPath,omitempty"`
	// TerminationLog is where the kubelet's file for the termination message lies on the machine; empty means that the
	// container has no file of its own for it.
	TerminationLog string `json:"terminationLog,omitempty"`

	CreatedAt  time.Time `json:"createdAt"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// ExitCode, Reason and Message are set when FinishedAt is.
	ExitCode uint32 `json:"exitCode,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
}

// State is derived.
func (c Container) State() runtimeapi.ContainerState {
	switch {
	case !c.FinishedAt.IsZero():
		return runtimeapi.ContainerState_CONTAINER_EXITED
	case !c.StartedAt.IsZero():
		return runtimeapi.ContainerState_CONTAINER_RUNNING
	default:
		return runtimeapi.ContainerState_CONTAINER_CREATED
	}
}

// SandboxConfig is CRI's message with the JSON form of protocol buffers, which stays readable when fields are added.
type SandboxConfig struct{ *runtimeapi.PodSandboxConfig }

// MarshalJSON writes the message's JSON form.
func (c SandboxConfig) MarshalJSON() ([]byte, error) { return protojson.Marshal(c.PodSandboxConfig) }

// UnmarshalJSON reads the message's JSON form; fields that this program does not know are dropped.
func (c *SandboxConfig) UnmarshalJSON(data []byte) error {
	c.PodSandboxConfig = &runtimeapi.PodSandboxConfig{}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, c.PodSandboxConfig)
}

// ContainerConfig is like SandboxConfig.
type ContainerConfig struct{ *runtimeapi.ContainerConfig }

// MarshalJSON writes the message's JSON form.
func (c ContainerConfig) MarshalJSON() ([]byte, error) { return protojson.Marshal(c.ContainerConfig) }

// UnmarshalJSON reads the message's JSON form; fields that this program does not know are dropped.
func (c *ContainerConfig) UnmarshalJSON(data []byte) error {
	c.ContainerConfig = &runtimeapi.ContainerConfig{}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, c.ContainerConfig)
}
