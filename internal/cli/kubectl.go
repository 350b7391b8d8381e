package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cluster/layout"
)

func (a *app) kubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [args…]",
		Short: "Upstream's kubectl, talking to this cluster",
		Long: `Upstream's kubectl, of the Kubernetes that Mullion has, with this cluster's administrator kubeconfig unless --kubeconfig says otherwise.
Everything after "kubectl" is kubectl's own: mullion kubectl get pods -A`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			paths, err := a.paths()
			if err != nil {
				return err
			}
			named := slices.ContainsFunc(args,
				func(s string) bool { return s == "--kubeconfig" || strings.HasPrefix(s, "--kubeconfig=") })
			environ := a.env.Environ
			if !named {
				if c, err := paths.LoadSpec(); err == nil && c.Join != nil {
					return noControlPlane(c)
				}
				if _, err := os.Stat(paths.AdminKubeconfig()); err != nil {
					return noCluster(paths.Data, err)
				}
				args = append([]string{"--kubeconfig=" + paths.AdminKubeconfig()}, args...)
				environ = withCache(environ, paths)
			}
			program, err := a.kubectlProgram()
			if err != nil {
				return err
			}
			if err := a.env.Exec(program, append([]string{"kubectl"}, args...), environ); err != nil {
				return fmt.Errorf("run %q: %w", program, err)
			}
			return nil
		},
	}
}

// withCache has kubectl keep what it knows of the API in a folder that goes with the cluster, and not in ~/.kube/cache,
// unless the user says where.
func withCache(environ []string, paths layout.Paths) []string {
	const name = "KUBECACHEDIR="
	if slices.ContainsFunc(environ, func(s string) bool { return strings.HasPrefix(s, name) }) {
		return environ
	}
	return append(slices.Clip(environ), name+filepath.Join(paths.Run(), "kubectl"))
}

// noCluster returns the error for commands that need a cluster if this user can see none.
func noCluster(data string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return &Error{
			Code:   ExitRequirement,
			Err:    fmt.Errorf("read the cluster's state in %q: %w", data, err),
			Remedy: "run it with sudo, or use your own kubeconfig with kubectl",
		}
	}
	return &Error{
		Code:   ExitNotFound,
		Err:    fmt.Errorf("no cluster in %q", data),
		Remedy: "bring one up with `mullion up`, or name its folder with --data-dir",
	}
}

// kubectlProgram is the kubectl of the cluster's version of Kubernetes.
func (a *app) kubectlProgram() (string, error) {
	paths, err := a.paths()
	if err != nil {
		return "", err
	}
	version := "" // where there is no cluster, or none that this user may look at
	if c, err := paths.LoadSpec(); err == nil {
		version = c.KubernetesVersion
	}
	program := paths.Kubernetes(version).Kubectl()
	if _, err := os.Stat(program); err != nil {
		return "", &Error{
			Code:   ExitRequirement,
			Err:    fmt.Errorf("find kubectl: %w", err),
			Remedy: "`make kubernetes` builds it; or use your own kubectl with `mullion kubeconfig`",
		}
	}
	return program, nil
}

// runKubectl runs kubectl as a process of its own, with the output of this one.
func (a *app) runKubectl(ctx context.Context, args ...string) error {
	program, err := a.kubectlProgram()
	if err != nil {
		return err
	}
	paths, err := a.paths()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = withCache(a.env.Environ, paths), a.env.Out, a.env.Err
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return &silentError{code: max(exit.ExitCode(), 1)}
	}
	return err
}
