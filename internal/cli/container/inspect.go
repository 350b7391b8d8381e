package container

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/single"
)

func (a *commands) inspect() *cobra.Command {
	var template, kind string
	cmd := &cobra.Command{
		Use:   "inspect [flags] CONTAINER…",
		Short: "Print all that is known of containers, as JSON",
		Example: `  mullion container inspect web
  mullion container inspect -f '{{.State.ExitCode}}' job`,
		Args:              atLeastOne,
		ValidArgsFunction: a.complete(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind != "container" {
				return exit.Misuse(fmt.Errorf("--type %q: containers are looked at here", kind),
					"`mullion image inspect` and `mullion volume inspect` are for the others")
			}
			show, err := dockerout.Parse(template, "`mullion container inspect` without -f shows the fields")
			if err != nil {
				return err
			}
			client, err := a.client(cmd)
			if err != nil {
				return err
			}

			all, err := client.List(cmd.Context())
			if err != nil {
				return engine.Refused(err)
			}

			var failed error
			found := []inspected{}
			for _, name := range args {
				c, err := single.Find(all, name)
				if err != nil {
					frame.PrintError(a.Env, engine.Refused(err))
					failed = exit.Silent(exit.Code(engine.Refused(err)))
					continue
				}
				found = append(found, inspect(c))
			}

			if err := dockerout.Each(a.Env, found, show); err != nil {
				return err
			}
			return failed
		},
	}
	cmd.Flags().StringVarP(&template, "format", "f", "", "template of Go for each one, for example {{.State.Status}}")
	cmd.Flags().StringVar(&kind, "type", "container", "container, which is all that there is here")

	return cmd
}

// inspected is what `docker inspect` says of a container, as far as a single container has it
// (https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerInspect).
type inspected struct {
	ID      string `json:"Id"`
	Created time.Time
	Path    string
	Args    []string
	State   inspectedState
	Image   string
	LogPath string
	// RestartCount is how often it has begun anew by itself.
	RestartCount int
	Name         string
	Platform     string
	Mounts       []inspectedMount
	HostConfig   inspectedHost
	Config       inspectedConfig

	NetworkSettings inspectedNetworks
}

// inspectedNetworks is where a container that runs is reached: its ports at this machine, and its own address.
type inspectedNetworks struct {
	Ports     map[string][]inspectedPort
	IPAddress string
	Networks  map[string]inspectedNetwork
}

type inspectedNetwork struct{ IPAddress string }

// networks returns what a container that runs has of its network.
func networks(c single.Container) inspectedNetworks {
	n := inspectedNetworks{Ports: map[string][]inspectedPort{}, Networks: map[string]inspectedNetwork{}}
	if c.State() == single.Running {
		n.Ports = portBindings(c)
		if c.Address.IsValid() {
			n.IPAddress = c.Address.String()
		}
	}
	n.Networks[string(networkOf(c))] = inspectedNetwork{n.IPAddress}
	return n
}

type inspectedState struct {
	Status                string
	Running, Restarting   bool // both while it waits to begin anew, as in Docker
	ExitCode              uint32
	Error                 string
	StartedAt, FinishedAt time.Time
	Health                *single.Health `json:",omitempty"`
}

// inspectedMount is a folder or a file of the machine (bind) or a volume.
type inspectedMount struct {
	Type                string
	Name                string `json:",omitempty"`
	Source, Destination string
	Driver              string `json:",omitempty"`
	Mode                string
	RW                  bool
}

type inspectedHost struct {
	NetworkMode, Isolation string
	PortBindings           map[string][]inspectedPort
	RestartPolicy          inspectedRestart
	AutoRemove             bool
	Memory, NanoCpus       int64
}

type inspectedRestart struct {
	Name              string
	MaximumRetryCount int
}

// inspectedPort is the machine's side of a published port.
type inspectedPort struct {
	HostIp, HostPort string //nolint:revive // Docker's names
}

// portBindings returns the published ports by the container's, as 80/tcp.
func portBindings(c single.Container) map[string][]inspectedPort {
	all := map[string][]inspectedPort{}
	for _, p := range c.Published() {
		inside := fmt.Sprintf("%d/%s", p.Container, p.Protocol)
		all[inside] = append(all[inside], inspectedPort{p.Addr.String(), strconv.Itoa(int(p.Host))})
	}
	return all
}

type inspectedConfig struct {
	Hostname, User    string
	Env, Cmd          []string
	Image, WorkingDir string
	Entrypoint        []string
	Tty, OpenStdin    bool
	StopTimeout       int
	Labels            map[string]string
	WindowsVersion    string
	Healthcheck       *single.HealthCheck `json:",omitempty"`
}

// inspect says what is known of a container.
func inspect(c single.Container) inspected {
	i := inspected{
		ID:      c.ID,
		Created: c.Created,
		State: inspectedState{
			Status:     c.Status(),
			Restarting: c.Status() == single.Restarting,
			Running:    c.State() == single.Running || c.Status() == single.Restarting,
			ExitCode:   c.End.Code,
			Error:      c.Why,
			StartedAt:  c.Started,
			FinishedAt: c.Finished,
			Health:     c.Health,
		},
		Image:        c.Image(),
		LogPath:      c.Log,
		RestartCount: c.Restarts,
		Name:         "/" + c.Name,
		Platform:     "windows",
		Mounts:       []inspectedMount{},

		NetworkSettings: networks(c),
		HostConfig: inspectedHost{
			NetworkMode:  string(networkOf(c)),
			PortBindings: portBindings(c),
			Isolation:    "process",
			RestartPolicy: inspectedRestart{
				Name:              cmp.Or(c.Run.Restart.Policy, single.RestartNo),
				MaximumRetryCount: c.Run.Restart.Most,
			},
			AutoRemove: !c.Run.Keep,
			Memory:     c.Run.Memory,
			NanoCpus:   int64(c.Run.CPUs * 1e9),
		},
		Config: inspectedConfig{
			Hostname:       c.Hostname(),
			User:           c.User,
			Env:            c.Env,
			Cmd:            c.Run.Args,
			Image:          c.Image(),
			WorkingDir:     c.Dir,
			Entrypoint:     c.Run.Entrypoint,
			Tty:            c.Run.Terminal,
			OpenStdin:      c.Run.Stdin,
			StopTimeout:    int(c.Run.StopTimeout / time.Second),
			Labels:         c.AllLabels(),
			WindowsVersion: cmp.Or(c.Windows, c.Run.Windows),
			Healthcheck:    c.Check,
		},
	}

	if len(c.Args) > 0 {
		i.Path, i.Args = c.Args[0], c.Args[1:]
	}

	for _, m := range c.Run.Mounts {
		shown := inspectedMount{
			Type:        "bind",
			Source:      m.Source,
			Destination: m.Target,
			RW:          !m.ReadOnly,
		}
		if m.Volume != "" {
			shown.Type, shown.Name = "volume", m.Volume
			shown.Driver = "local"
		}
		if m.ReadOnly {
			shown.Mode = "ro"
		}

		i.Mounts = append(i.Mounts, shown)
	}

	return i
}
