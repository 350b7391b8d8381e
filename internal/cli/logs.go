package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) logs() *cobra.Command {
	var follow, debug bool
	var tail int
	cmd := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print the log of one of the cluster's parts",
		Long: `Prints the log of one of the cluster's parts. Without a name it lists those that there are.

With --debug it takes a Windows node, and follows the log of the node's agent until Ctrl-C. Meanwhile the agent logs at
debug: each call of the kubelet with its pod, container and time, and each request of HNS that is refused, with the
reason. Afterwards it logs as before, however this command ends. ` + "`mullion up --log-level debug`" + ` has all of Mullion's
programs log that much, until another level is named; ` + "`mullion status -o json`" + ` has the level (.supervisor.logLevel).`,
		Example: "  mullion logs kube-apiserver\n  mullion logs kubelet/win-1 --tail 50 -f\n  mullion logs --debug win-1",
		Args: func(cmd *cobra.Command, args []string) error {
			if debug {
				return exactArgs("NODE")(cmd, args)
			}
			if len(args) == 0 {
				return nil // it is answered with the names that there are
			}
			return exactArgs("COMPONENT")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := a.paths()
			if err != nil {
				return err
			}
			if debug {
				return a.debugLog(cmd.Context(), paths, args[0], tail)
			}
			names, err := logNames(paths.Logs())
			if err != nil && len(args) == 0 {
				return exactArgs("COMPONENT")(cmd, args)
			}
			if err != nil {
				return noCluster(paths.Data, err)
			}
			if len(args) == 0 {
				return usage(errors.New("name one of the cluster's parts"), "there are: "+strings.Join(names, ", "))
			}
			if !slices.Contains(names, args[0]) {
				return &Error{
					Code:   ExitNotFound,
					Err:    fmt.Errorf("no log of a component %q", args[0]),
					Remedy: "there are: " + strings.Join(names, ", "),
				}
			}
			return printLog(cmd.Context(), a.env.Out, filepath.Join(paths.Logs(), args[0]+".log"), tail, follow)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if debug {
				return a.completeNodes(cmd, args, prefix)
			}
			if paths, err := a.paths(); err == nil {
				if names, err := logNames(paths.Logs()); err == nil {
					return names, cobra.ShellCompDirectiveNoFileComp
				}
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing what is added")
	cmd.Flags().BoolVar(&debug, "debug", false, "have a Windows node's agent log at debug meanwhile, and follow its log")
	cmd.Flags().IntVar(&tail, "tail", -1, "print only this number of lines from the end; -1 for all")
	return cmd
}

// logNames returns the names of components that have a log, for example "kubelet/win-1".
func logNames(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".log") {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		names = append(names, strings.TrimSuffix(rel, ".log"))
		return err
	})
	return names, err
}

// printLog prints a log from its last lines on, as many as tail says, or from its beginning with a negative one. With
// follow it goes on with what is added until ctx ends, also in the file that takes its place when it is rotated.
func printLog(ctx context.Context, w io.Writer, path string, tail int, follow bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // f may be another file by then
	if tail >= 0 {
		if err := printTail(w, f, tail); err != nil {
			return err
		}
	}
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		next := rotated(f, path) // looked for before the rest of f is read, after which nothing is added to it
		if _, err := io.Copy(w, f); err != nil {
			return errors.Join(err, closed(next))
		}
		if next != nil {
			_ = f.Close() // only read
			f = next
			continue
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// printTail prints the last lines of a file, and leaves it at its end.
func printTail(w io.Writer, f io.Reader, tail int) error {
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(data), "\n")
	if len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	_, err = io.WriteString(w, strings.Join(lines[max(0, len(lines)-tail):], ""))
	return err
}

// rotated opens the file at path, if it is another one than f; else it returns nil.
func rotated(f *os.File, path string) *os.File {
	was, err := f.Stat()
	if err != nil {
		return nil
	}
	next, err := os.Open(path)
	if err != nil {
		return nil // between two names
	}
	if is, err := next.Stat(); err != nil || os.SameFile(was, is) {
		_ = next.Close() // only opened
		return nil
	}
	return next
}

func closed(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}
