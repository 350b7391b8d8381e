package single

import (
	"fmt"
	"net/netip"
	"time"

	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// Request is what a client asks first on a connection: one of its fields.
type Request struct {
	Run *Run `json:",omitempty"`
	// Linux asks for a command of a build.
	Linux *LinuxRun `json:",omitempty"`
	// Explain asks what a container would get.
	Explain *Run  `json:",omitempty"`
	Load    *Load `json:",omitempty"`
	Save    *Save `json:",omitempty"`
	Tag     *Tag  `json:",omitempty"`
	// HasImage asks whether an image is here, Images for all images, Pull for one to be pulled for containers like that
	// one, RemoveImage for one to go.
	HasImage    string `json:",omitempty"`
	Images      bool   `json:",omitempty"`
	Pull        *Run   `json:",omitempty"`
	RemoveImage string `json:",omitempty"`
	// ForceImage removes an image by its ID though it has several names.
	ForceImage bool `json:",omitempty"`
	// Builds asks for the builds of all images, beside Images: of an index each is one.
	Builds bool  `json:",omitempty"`
	Exec   *Exec `json:",omitempty"`
	// List asks for all containers, Prune for the removal of those that have ended.
	List, Prune bool `json:",omitempty"`
	// PruneThose asks for the removal of some of them.
	PruneThose *Pruned `json:",omitempty"`
	// Wait names a container whose end is waited for, by its name, its id or the beginning of that; so do the others.
	Wait   string   `json:",omitempty"`
	Stop   *Ending  `json:",omitempty"`
	Tell   *Telling `json:",omitempty"`
	Remove *Removal `json:",omitempty"`
	// Start names a container that has ended and is to begin anew.
	Start  string     `json:",omitempty"`
	Rename *Renaming  `json:",omitempty"`
	Volume *VolumeAsk `json:",omitempty"`
	// Sample asks what containers use: those named, or all that run.
	Sample *Sampling `json:",omitempty"`
	// End asks the engine to end, with all containers.
	End bool `json:",omitempty"`
}

// Run asks for a container. Paths without a drive are the machine's, and absolute.
type Run struct {
	// Image is a reference; "": a bare Windows.
	Image string
	// Pull is when the registry is asked.
	Pull Pull
	// Auth are the credentials for the image's registry, which no checkpoint has; nil: none.
	Auth *image.Auth `json:",omitempty"`
	// Windows is the version of Windows that the container is; "": the one that the image is for, or winver.Default.
	Windows string
	// Entrypoint replaces the image's entry point and command, Args its command.
	Entrypoint, Args []string
	// Env are variables as NAME=VALUE. Secrets are more of them, which no checkpoint has.
	Env     []string
	Secrets []string `json:",omitempty"`
	// Dir and User are the image's unless they are given.
	Dir, User string
	// Hostname is the container's; "": its id.
	Hostname string
	// Network is the container's network; "": NAT.
	Network Network
	// Ports lead to the container, DNS are name servers in place of the gateway; both only with NAT.
	Ports []nat.Port
	DNS   []netip.Addr
	// PublishAll publishes Expose, and what the image exposes, at any free ports of the machine's loopback.
	PublishAll bool      `json:",omitempty"`
	Expose     []Exposed `json:",omitempty"`
	// Labels are the container's, beside those of the image.
	Labels map[string]string `json:",omitempty"`
	// Memory is in bytes, CPUs a count of processors; 0: no limit.
	Memory int64
	CPUs   float64
	Mounts []Mount
	// Terminal gives the program a console of Columns and Rows, Stdin an input.
	Terminal, Stdin bool
	Columns, Rows   uint16
	// Streams names the folder with the FIFOs of the program's streams, which the client has made.
	Streams string
	// StopTimeout is how long the program has after CTRL_SHUTDOWN.
	StopTimeout time.Duration
	// Layer is a file of the machine into which the engine writes the layer of what the container has changed, once its
	// program has ended with 0; "": none is written.
	Layer string
	// Once removes the image afterwards: it was made for this container.
	Once bool
	// From is the folder or the program of the machine that is run, to be shown in place of the image; "": an image is.
	From string
	// Name is the container's; "": one is made up.
	Name string
	// Detach has the container live on without its client. Then there are no Streams.
	Detach bool
	// Restart says when it begins anew by itself.
	Restart Restart `json:",omitzero"`
	// Health is how it is asked for its health, where that is not the image's.
	Health *HealthCheck `json:",omitempty"`
	// Keep has the engine remember a container that has ended, with its log, until it is removed.
	Keep bool
}

// LinuxRun asks for a command of a stage for Linux of a Dockerfile, whose container is forgotten when it has ended.
// Paths of the machine are absolute.
type LinuxRun struct {
	// Layers are those of the stage, the lowest first.
	Layers []LinuxLayer
	// Args are the program and its arguments.
	Args []string
	// Env are variables as NAME=VALUE.
	Env []string
	// Dir is the folder that it starts in, User its user as in USER: a name or a number, and maybe a group.
	Dir, User string
	// Network is the container's network; "": NAT.
	Network Network
	// Mounts have targets of Linux.
	Mounts []Mount
	// Streams is as in Run.
	Streams string
	// Layer is a file of the machine into which the engine writes the layer of what the command has changed, once it
	// has ended with 0.
	Layer string
}

// LinuxLayer is a layer of an image for Linux. File is a file that has its bytes, compressed by gzip.
type LinuxLayer struct{ DiffID, File string }

// Exec asks for another program in a container that runs.
type Exec struct {
	Container string
	Args      []string
	// Env are variables as NAME=VALUE, beside those of the container.
	Env []string
	// Dir and User are the container's unless they are given.
	Dir, User string
	// Terminal, Stdin, Columns, Rows and Streams are as in Run.
	Terminal, Stdin bool
	Columns, Rows   uint16
	Streams         string
	// Detach has the program live on without its client. Then there are no Streams, and nobody has what it says.
	Detach bool `json:",omitempty"`
}

// Exposed is a port of a container.
type Exposed struct {
	Port     uint16
	Protocol wire.Protocol
}

// Renaming gives a container another name.
type Renaming struct{ Container, Name string }

// Sampling names containers.
type Sampling struct{ Containers []string }

// Sample is what a container uses.
type Sample struct {
	ID, Name string
	At       time.Time
	// CPU is the time on all processors since it began.
	CPU time.Duration
	// Memory is in bytes, Limit its bound, which is the machine's memory where it has none.
	Memory, Limit uint64
	// Processes are Linux', Wine's own among them.
	Processes uint64
	// Read and Written are bytes of disks, Received and Sent bytes of its network, since it began.
	Read, Written, Received, Sent uint64
}

// Ending asks for the end of a container: its program is told, and killed when it has not ended in time.
type Ending struct {
	Container string
	// Timeout is the container's own unless it is given; below 0: it is never killed.
	Timeout *time.Duration `json:",omitempty"`
}

// Telling asks for a signal to a container's program.
type Telling struct {
	Container string
	Signal    Signal
}

// Removal asks for a container to be removed: with Force also one that runs, with Volumes also the volumes that it has
// and that nobody has named.
type Removal struct {
	Container string
	Force     bool
	Volumes   bool `json:",omitempty"`
}

// Pruned says which containers that have ended are removed: those made before a time, those that have all of some
// labels, and none of some others, each NAME or NAME=VALUE. The zero value is for all.
type Pruned struct {
	Until             time.Time `json:",omitzero"`
	Labels, NotLabels []string  `json:",omitempty"`
}

// Network is a network of a container.
type Network string

// The values of Network: that of all containers, by which they reach what the machine reaches; a loopback alone.
const (
	NAT  Network = "nat"
	None Network = "none"
)

// Pull is when a registry is asked for an image.
type Pull string

// The values of Pull, Docker's.
const (
	PullMissing Pull = "missing"
	PullAlways  Pull = "always"
	PullNever   Pull = "never"
)

// Mount is a folder or a file of the machine in a container, or a volume.
type Mount struct {
	Source, Target string
	// Volume is the name of a volume, in place of Source. Anonymous says that nobody has named it, and the engine does;
	// NoCopy, that it does not begin with what the image has there.
	Volume            string `json:",omitempty"`
	Anonymous, NoCopy bool   `json:",omitempty"`
	ReadOnly          bool
	// Shared says that every user of a container has what the source's mode gives to everyone, as in a volume of pods.
	// Otherwise the container's user has what the source's owner has.
	Shared bool
}

// Load asks for the images of an archive, which the engine reads. Name is the reference of one without a name.
type Load struct{ Archive, Name string }

// Save asks for the archive of an image, which the engine writes to a file that is there.
type Save struct{ Image, Archive string }

// Tag asks for another reference of an image.
type Tag struct{ Image, Name string }

// Control is what a client says while its container runs.
type Control struct {
	// Signal is one of the words of Signal.
	Signal Signal `json:",omitempty"`
	// Columns and Rows are the console's new size.
	Columns, Rows uint16 `json:",omitempty"`
	// InputEnded says that nothing more comes by the program's input.
	InputEnded bool `json:",omitempty"`
}

// Signal is what a program is told.
type Signal string

// The signals: CTRL_C_EVENT, CTRL_SHUTDOWN_EVENT and after a while the end, the end at once.
const (
	Interrupt Signal = "interrupt"
	Stop      Signal = "stop"
	Kill      Signal = "kill"
)

// Event is what the engine says: one of its fields.
type Event struct {
	// Doing is what takes long at the moment.
	Doing string `json:",omitempty"`
	// Begins says that a program of a container is started now. If the engine ends, nobody asks for it again.
	Begins bool `json:",omitempty"`
	// Started says that the program runs, in the container of that id.
	Started string   `json:",omitempty"`
	Ended   *End     `json:",omitempty"`
	Refused *Refusal `json:",omitempty"`
	// Loaded are the references that Load has stored.
	Loaded []string `json:",omitempty"`
	// Images are those that were asked for.
	Images []image.Info `json:",omitempty"`
	// KeptNames are those of an image of which RemoveImage has removed one.
	KeptNames []string `json:",omitempty"`
	// Containers are those that List has found, or Prune removed, and Volumes are those of VolumeAsk; Freed is how many
	// bytes that has freed.
	Containers []Container `json:",omitempty"`
	Volumes    []Volume    `json:",omitempty"`
	Freed      int64       `json:",omitempty"`
	// Samples are what Sample has asked for.
	Samples []Sample `json:",omitempty"`
	// Explained is what Explain has found.
	Explained *Explanation `json:",omitempty"`
	// Done says that what was asked for is done, where there is nothing else to say.
	Done bool `json:",omitempty"`
}

// End is how a container's program ended.
type End struct {
	// Code is Windows' exit code; with Killed it is Linux', 128 and the signal.
	Code   uint32
	Killed bool
}

// The exit codes of Docker for a container whose program did not run
// (https://docs.docker.com/engine/containers/run/#exit-status).
const (
	CodeFailed      = 125 // Mullion's own
	CodeCannotStart = 126
	CodeNotFound    = 127
)

// Refusal is why a program did not run, with one of those codes.
type Refusal struct {
	Code    int
	Message string
	// Remedy is what to do, "" where that is not known.
	Remedy string `json:",omitempty"`
	// Conflict says that a container uses the image that was to be removed.
	Conflict bool `json:",omitempty"`
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// ExitCode returns the exit code of a process that tells how the program ended: its own modulo 256, but never 0 for a
// failure.
func (e End) ExitCode() int {
	if code := int(e.Code & 0xff); code != 0 || e.Code == 0 {
		return code
	}
	return 1
}

// firstException is the first of the exit codes that are exceptions: NTSTATUS of severity error
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-erref/87fba13e-bf06-450e-83b1-9241dc81e781).
const firstException = 0xC0000000

// Why says what an exit code does not: an exception. "" says nothing.
func (e End) Why() string {
	if e.Killed || e.Code < firstException {
		return ""
	}
	if name := exceptionName(e.Code); name != "" {
		return fmt.Sprintf("the program ended with 0x%08X (%s)", e.Code, name)
	}
	return fmt.Sprintf("the program ended with 0x%08X", e.Code)
}

// exceptionName returns what people call an exception, "" for the rare ones
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55).
func exceptionName(code uint32) string {
	switch code {
	case 0xC0000005:
		return "access violation"
	case 0xC0000017:
		return "not enough memory"
	case 0xC000001D:
		return "illegal instruction"
	case 0xC0000094:
		return "integer division by zero"
	case 0xC00000FD:
		return "stack overflow"
	case 0xC0000135:
		return "a DLL was not found"
	case 0xC0000139:
		return "a function was not found in a DLL"
	case 0xC000013A:
		return "Ctrl+C"
	case 0xC0000142:
		return "a DLL did not initialize"
	case 0xC0000374:
		return "heap corruption"
	case 0xC0000409:
		return "stack buffer overrun"
	}

	return ""
}
