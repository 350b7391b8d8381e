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
	var follow bool
	var tail int
	cmd := &cobra.Command{
		Use:     "logs COMPONENT",
		Short:   "Print the log of one of the cluster's parts",
		Example: "  mullion logs kube-apiserver\n  mullion logs kubelet/win-1 --tail 50 -f",
		Args: func(cmd *cobra.Command, args []string) error {
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
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			if paths, err := a.paths(); err == nil {
				if names, err := logNames(paths.Logs()); err == nil {
					return names, cobra.ShellCompDirectiveNoFileComp
				}
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing what is added")
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

func printLog(ctx context.Context, w io.Writer, path string, tail int, follow bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if tail >= 0 {
		data, err := io.ReadAll(f)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(string(data), "\n")
		if len(lines) > 0 && lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		if _, err := io.WriteString(w, strings.Join(lines[max(0, len(lines)-tail):], "")); err != nil {
			return err
		}
	}
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.Copy(w, f); err != nil {
			return err
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
