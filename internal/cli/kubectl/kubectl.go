// Package kubectl owns `mullion kubectl` and `mullion kubeconfig`: how one talks to a cluster by upstream's own program.
package kubectl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster/layout"
)

// Commands are `mullion kubectl` and `mullion kubeconfig`.
type Commands struct{ *reader.Reader }

// New returns the commands.
func New(r *reader.Reader) *Commands { return &Commands{r} }

// Kubectl returns `mullion kubectl`.
func (a *Commands) Kubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [args…]",
		Short: "Upstream's kubectl, talking to this cluster",
		Long: `Upstream's kubectl, of the Kubernetes that Mullion has, talking to this cluster unless --kubeconfig says otherwise.
Everything after "kubectl" is kubectl's own: mullion kubectl get pods -A

root has the administrator's kubeconfig. Anybody else has the context that mullion up has added to the own kubeconfig;
without one, who may read the cluster has a kubeconfig that may only read, and no secrets.`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := a.prepare(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := a.Env.Exec(run.program, append([]string{"kubectl"}, run.args...), run.environ); err != nil {
				return fmt.Errorf("run %q: %w", run.program, err)
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return a.complete(cmd.Context(), args, prefix)
		},
	}
}

// run is a run of kubectl.
type run struct {
	program       string
	args, environ []string
}

// prepare finds out how kubectl is to be run with arguments. Those that need no cluster work without one.
func (a *Commands) prepare(ctx context.Context, args []string) (run, error) {
	run := run{args: args, environ: a.Env.Environ}
	paths, err := a.Paths()
	if err != nil {
		return run, err
	}
	version := ""
	if c, err := paths.LoadSpec(); err == nil {
		version = c.KubernetesVersion
	}

	named := slices.ContainsFunc(args,
		func(s string) bool { return s == "--kubeconfig" || strings.HasPrefix(s, "--kubeconfig=") })
	if !named && (!a.Reads() || !needsNoCluster(args)) {
		flags, environ, of, err := a.access(ctx, paths)
		switch {
		case err == nil:
			run.args, run.environ = append(flags, args...), environ
			version = cmp.Or(version, of)
		case !needsNoCluster(args):
			return run, err
		}
	}

	run.program, err = programOf(paths, version)
	return run, err
}

// access returns the flags and the environment by which kubectl asks this cluster, and the cluster's version.
func (a *Commands) access(ctx context.Context, paths layout.Paths) (
	flags, environ []string, version string, err error,
) {
	if a.Reads() {
		x, err := a.Access(ctx, paths)
		if err != nil {
			return nil, nil, "", err
		}
		file, err := x.File()
		return []string{"--kubeconfig=" + file}, a.Env.Environ, x.Version, err // the cache is the person's own
	}

	if c, err := paths.LoadSpec(); err == nil && c.Join != nil {
		return nil, nil, "", remedy.NoControlPlane(c)
	}
	if _, err := os.Stat(paths.AdminKubeconfig()); err != nil {
		return nil, nil, "", remedy.NoCluster(paths.Data, err)
	}

	return []string{"--kubeconfig=" + paths.AdminKubeconfig()}, withCache(a.Env.Environ, paths), "", nil
}

// needsNoCluster reports whether kubectl can do without a cluster: it tells of itself, or completes a command line.
func needsNoCluster(args []string) bool {
	if len(args) == 0 {
		return true
	}
	flags := args
	if end := slices.Index(args, "--"); end >= 0 {
		flags = args[:end]
	}

	if slices.Contains(flags, "-h") || slices.Contains(flags, "--help") {
		return true
	}
	words := slices.DeleteFunc(slices.Clone(flags), func(s string) bool { return strings.HasPrefix(s, "-") })
	if len(words) == 0 {
		return false
	}

	switch words[0] {
	case "version":
		return slices.Contains(flags, "--client") || slices.Contains(flags, "--client=true")
	case "completion", "help", "options", "config", "kustomize", "plugin", cobra.ShellCompRequestCmd,
		cobra.ShellCompNoDescRequestCmd:
		return true
	}

	return false
}

// complete asks kubectl what comes next on its command line.
func (a *Commands) complete(ctx context.Context, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	ctx, cancel := context.WithTimeout(ctx, reader.CompletionPatience)
	defer cancel()

	run, err := a.prepare(ctx, append(slices.Clone(args), prefix))
	if err != nil {
		if run, err = a.prepare(ctx, []string{cobra.ShellCompRequestCmd}); err != nil {
			return nil, none
		}
		run.args = append(slices.Clone(args), prefix)
	}

	cmd := exec.CommandContext(ctx, run.program, append([]string{cobra.ShellCompRequestCmd}, run.args...)...)
	cmd.Args[0], cmd.Env = "kubectl", run.environ
	out, err := cmd.Output()
	if err != nil {
		return nil, none
	}

	return completions(out)
}

// completions reads what cobra's __complete prints: a line each, and the directive as ":4" at the end.
func completions(out []byte) ([]string, cobra.ShellCompDirective) {
	lines := strings.Split(strings.TrimSpace(string(bytes.TrimSpace(out))), "\n")
	last := lines[len(lines)-1]
	directive, err := strconv.Atoi(strings.TrimPrefix(last, ":"))
	if err != nil || !strings.HasPrefix(last, ":") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return lines[:len(lines)-1], cobra.ShellCompDirective(directive)
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

// Program returns the kubectl of the cluster's version of Kubernetes.
func (a *Commands) Program() (string, error) {
	paths, err := a.Paths()
	if err != nil {
		return "", err
	}
	version := "" // where there is no cluster, or none that this user may look at
	if c, err := paths.LoadSpec(); err == nil {
		version = c.KubernetesVersion
	}
	return programOf(paths, version)
}

// programOf returns the kubectl of a version of Kubernetes. A bundle of a person's own is in the data folder, where
// only root finds it; the others have Mullion's kubectl then.
func programOf(paths layout.Paths, version string) (string, error) {
	program := paths.Kubernetes(version).Kubectl()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}

	program = paths.Kubernetes("").Kubectl()
	if _, err := os.Stat(program); err != nil {
		return "", &exit.Error{
			Code:   exit.Requirement,
			Err:    fmt.Errorf("find kubectl: %w", err),
			Remedy: "`make kubernetes` builds it; or use your own kubectl with `mullion kubeconfig`",
		}
	}

	return program, nil
}

// Run runs kubectl as a process of its own, with the output of this one.
func (a *Commands) Run(ctx context.Context, args ...string) error {
	program, err := a.Program()
	if err != nil {
		return err
	}
	paths, err := a.Paths()
	if err != nil {
		return err
	}

	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = withCache(a.Env.Environ, paths)
	cmd.Stdout = a.Env.Out
	cmd.Stderr = a.Env.Err
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return exit.Silent(max(ended.ExitCode(), 1))
	}

	return err
}
