package container

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/single/nat"
)

func (a *commands) port() *cobra.Command {
	return &cobra.Command{
		Use:   "port CONTAINER [PORT[/PROTOCOL]]",
		Short: "Print which ports of this machine lead to a container's",
		Example: `  mullion container port web
  mullion container port web 80/tcp`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return cmdline.Exactly("CONTAINER")(cmd, args)
		},
		ValidArgsFunction: a.complete(false, single.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			var of []single.Exposed
			if len(args) > 1 {
				var err error
				if of, err = single.ParseExposed(args[1]); err != nil {
					return exit.Misuse(err, "for example: mullion container port web 80/tcp")
				}
			}

			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			c, err := client.Find(cmd.Context(), args[0])
			if err != nil {
				return engine.Refused(err)
			}

			lines, err := portLines(c, of)
			for _, line := range lines {
				fmt.Fprintln(a.Env.Out, line)
			}

			return err
		},
	}
}

// portLines returns what `docker port` prints of a container: all its ports, or where those that are meant are
// published.
func portLines(c single.Container, of []single.Exposed) (lines []string, err error) {
	var ports []nat.Port
	if c.State() == single.Running {
		ports = sortedPorts(c)
	}

	if of == nil {
		for _, p := range ports {
			lines = append(lines, fmt.Sprintf("%d/%s -> %s", p.Container, p.Protocol, netip.AddrPortFrom(p.Addr, p.Host)))
		}
		return lines, nil
	}

	for _, p := range ports {
		if slices.Contains(of, single.Exposed{Port: p.Container, Protocol: p.Protocol}) {
			lines = append(lines, netip.AddrPortFrom(p.Addr, p.Host).String())
		}
	}
	if len(lines) == 0 {
		return nil, &exit.Error{
			Code: exit.Internal,
			Err:  fmt.Errorf("no public port '%d/%s' published for %s", of[0].Port, of[0].Protocol, c.Name),
		}
	}

	return lines, nil
}
