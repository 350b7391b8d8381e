package winhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// ErrDown says that a host has no first process, so nothing can be started in it.
var ErrDown = errors.New("the host is not up")

// Host describes a Windows host. It is plain data: several processes may hold it, and each finds the running host
// through StateFile.
type Host struct {
	// Name is the host name.
	Name string `json:"name"`
	// Netns is the pinned network namespace of the host.
	Netns string `json:"netns"`
	// StateFile is where the first process is recorded while the host is up. It must not survive a reboot.
	StateFile string `json:"stateFile"`
	// Root is an empty folder of the machine, at which the host's root file system is put together. It shows the
	// machine's /usr read-only and what the fields below name; nothing else of the machine is in it.
	Root string `json:"root"`
	// Binds are shown in the host read-only.
	Binds []Bind `json:"binds,omitempty"`
	// Programs are folders of the machine outside of /usr that the host sees read-only; Folders are those that it may
	// write to. Both have the same paths in the host.
	Programs []string `json:"programs,omitempty"`
	Folders  []string `json:"folders,omitempty"`
	// Tmp is a folder of the machine that the host has as its /tmp, emptied before the host starts; empty: the host has
	// one that nobody else sees.
	Tmp string `json:"tmp,omitempty"`
	// Shared is one more folder that the host may write to. What the machine mounts in it while the host is up appears
	// in the host; empty: there is none.
	Shared string `json:"shared,omitempty"`
	// Shares is one that the host may not write to, with SMB shares, which the machine mounts in it; empty: there is
	// none.
	Shares string `json:"shares,omitempty"`
	// Volumes is another, with the volumes of the host's data disks; empty: there is none.
	Volumes string `json:"volumes,omitempty"`
	// Cgroup is that in which the host's programs are, with the containers of its node; empty: they are in Beside.
	// It is there, with one in it that is called cgroup.Own.
	Cgroup string `json:"cgroup,omitempty"`
	// Beside is the cgroup by whose weight they run if Cgroup is empty; it may be missing.
	Beside string `json:"beside,omitempty"`
	// Loader is the command line that runs a Windows program, to be followed by its Windows path and arguments.
	Loader []string `json:"loader"`
	// Env is the environment of Windows programs, as NAME=value, and Dir the Unix path of their working folder.
	Env []string `json:"env"`
	Dir string   `json:"dir"`
}

// Bind shows Source, a file or folder of the machine, at Target.
type Bind struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// state is the content of StateFile. The start time tells the process from a later one of the same pid.
type state struct {
	PID       int    `json:"pid"`
	StartTime uint64 `json:"startTime"`
}

// Load reads a host that Save wrote.
func Load(path string) (Host, error) {
	var h Host
	data, err := os.ReadFile(path)
	if err != nil {
		return h, fmt.Errorf("load host: %w", err)
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return h, fmt.Errorf("load host %q: %w", path, err)
	}
	return h, nil
}

// Save writes the host's description for Load, whole or not at all.
func (h Host) Save(path string) error {
	if err := writeJSON(path, h); err != nil {
		return fmt.Errorf("save host %q: %w", h.Name, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteJSON(path, v)
}
