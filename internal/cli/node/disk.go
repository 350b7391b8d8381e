package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

func (a *commands) disk() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "disk",
		Short: "Give a Windows node's host data disks, list and take them",
		Long: `Attaches data disks to a node's host while it runs, as a cloud attaches disks to a virtual machine, and takes
them away. A new disk is raw: on the host, Initialize-Disk, New-Partition and Format-Volume of PowerShell make a volume
of it, as csi-proxy and CSI drivers do.

A disk is a sparse file in the data folder, which takes the room of what is written to it. It goes with the cluster.`,
		Example: "  mullion node disk add win-1 --size 10Gi\n  mullion node disk ls win-1\n" +
			"  mullion node disk grow win-1 1 --size 20Gi\n  mullion node disk rm win-1 1",
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}

	cmd.AddCommand(a.diskAdd(), a.diskList(), a.diskGrow(), a.diskRemove())
	return cmd
}

// sizeFlag adds the flag with a disk's size.
func sizeFlag(cmd *cobra.Command, size *string) {
	cmd.Flags().StringVar(size, "size", "", "the disk's size, such as 10Gi (required)")
}

// diskSize reads a size as Kubernetes writes it.
func diskSize(size string) (int64, error) {
	q, err := resource.ParseQuantity(size)
	if err == nil && (q.CmpInt64(hostdisk.LeastDisk) < 0 || q.CmpInt64(hostdisk.MostDisk) > 0) {
		err = fmt.Errorf("a disk has from %d MiB to %d TiB", hostdisk.LeastDisk>>20, hostdisk.MostDisk>>40)
	}
	if err != nil {
		return 0, exit.Misuse(fmt.Errorf("--size %q: %w", size, err), "for example: --size 10Gi")
	}
	return q.Value(), nil
}

// diskNumber reads a disk's number.
func diskNumber(arg string) (uint32, error) {
	n, err := strconv.ParseUint(arg, 10, 32)
	if err != nil || n == 0 {
		return 0, exit.Misuse(fmt.Errorf("%q is not the number of a disk", arg), "`mullion node disk ls NODE` shows the numbers")
	}
	return uint32(n), nil
}

func (a *commands) diskAdd() *cobra.Command {
	var size, name string

	cmd := &cobra.Command{
		Use:               "add NODE --size SIZE",
		Short:             "Attach a new disk to a node's host",
		Args:              cmdline.Exactly("NODE"),
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			bytes, err := diskSize(size)
			if err != nil {
				return err
			}
			request := hostdisk.Request{
				Do:    hostdisk.Attach,
				Size:  bytes,
				Label: name,
			}

			answer, err := a.askDisks(cmd.Context(), args[0], request)
			if err != nil {
				return err
			}
			for _, d := range answer.Disks {
				if d.Number == answer.Number {
					fmt.Fprintf(a.Env.Out, "node %s has disk %d, serial number %s\n", args[0], d.Number, d.Serial)
				}
			}

			return nil
		},
	}

	sizeFlag(cmd, &size)
	cmd.Flags().StringVar(&name, "name", "", "the disk's friendly name")
	return cmd
}

func (a *commands) diskList() *cobra.Command {
	return &cobra.Command{
		Use:               "ls NODE",
		Aliases:           []string{"list"},
		Short:             "List the disks of a node's host, with their partitions and volumes",
		Args:              cmdline.Exactly("NODE"),
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := a.askDisks(cmd.Context(), args[0], hostdisk.Request{Do: hostdisk.Get})
			if err != nil {
				return err
			}
			return a.printDisks(answer.Disks)
		},
	}
}

// printDisks prints a line for each disk, and one for each of its volumes.
func (a *commands) printDisks(disks []hostdisk.Disk) error {
	w := tabwriter.NewWriter(a.Env.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DISK\tPARTITION\tSIZE\tFREE\tSTATE\tNAME\tPATHS")
	binary := func(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
	for _, d := range disks {
		state := "raw"
		if d.GUID != "" {
			state = "GPT"
		}
		if d.Offline {
			state += ", offline"
		}

		if d.ReadOnly {
			state += ", read-only"
		}

		fmt.Fprintf(w, "%d\t\t%s\t\t%s\t%s\t%s\n", d.Number, binary(d.Size),
			plaintext.OneLine(cmp.Or(d.Fault, state)), plaintext.OneLine(d.Name), d.Serial)
		for _, p := range d.Partitions {
			if p.Type == "Reserved" {
				continue
			}
			fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%s\n", d.Number, p.Number, binary(p.Size), binary(p.Free),
				plaintext.OneLine(cmp.Or(p.Fault, p.FileSystem, "not formatted")), plaintext.OneLine(p.Label),
				plaintext.OneLine(strings.Join(p.Paths, ", ")))
		}
	}

	return w.Flush()
}

func (a *commands) diskGrow() *cobra.Command {
	var size string
	cmd := &cobra.Command{
		Use:   "grow NODE DISK --size SIZE",
		Short: "Make a disk larger while it is used",
		Long: `Makes a disk of a node's host larger. Its partitions stay as they are: on the host, Resize-Partition gives them the new
room, also while a volume is used.`,
		Args:              cmdline.Exactly("NODE", "DISK"),
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			bytes, err := diskSize(size)
			if err != nil {
				return err
			}
			return a.changeDisk(cmd.Context(), args, hostdisk.Request{Do: hostdisk.Grow, Size: bytes})
		},
	}
	sizeFlag(cmd, &size)

	return cmd
}

func (a *commands) diskRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "rm NODE DISK",
		Aliases: []string{"remove"},
		Short:   "Take a disk away, with all that is on it",
		Long: `Takes a disk from a node's host, and removes its bytes. It is refused while a program or a container uses a volume of
the disk.`,
		Args:              cmdline.Exactly("NODE", "DISK"),
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeDisk(cmd.Context(), args, hostdisk.Request{Do: hostdisk.Detach})
		},
	}
}

func (a *commands) changeDisk(ctx context.Context, args []string, request hostdisk.Request) error {
	var err error
	if request.Disk, err = diskNumber(args[1]); err != nil {
		return err
	}
	_, err = a.askDisks(ctx, args[0], request)
	return err
}

// askDisks asks a node's host for its disks.
func (a *commands) askDisks(ctx context.Context, node string, request hostdisk.Request) (hostdisk.Answer, error) {
	paths, err := a.Paths()
	if err != nil {
		return hostdisk.Answer{}, err
	}
	if a.Reads() && request.Do == hostdisk.Get {
		var answer hostdisk.Answer
		err := a.Ask(ctx, paths, view.Path("disks", node), nil, &answer)
		return answer, err
	}

	if err := a.RequireRoot("changes the disks of a node's host"); err != nil {
		return hostdisk.Answer{}, err
	}

	answer, err := a.calls.Disks(ctx, paths, node, request)
	if refusal, ok := errors.AsType[*hostcall.Refusal](err); ok {
		code := exit.Usage
		if refusal.Code == hostdisk.InUse {
			code = exit.Conflict
		}
		return answer, &exit.Error{
			Code:   code,
			Err:    fmt.Errorf("disks of node %s: %w", node, err),
			Remedy: "see `mullion node disk ls " + node + "`; what a pod uses goes with the pod",
		}
	}

	switch {
	case errors.Is(err, cluster.ErrNotWindows):
		return answer, exit.Misuse(err, "a Linux node has the machine's disks; name a Windows node")
	case err != nil:
		return answer, remedy.NodeDown(node, remedy.NotFound(remedy.MissingHost(paths, err)))
	}

	return answer, nil
}
