package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/cli/kubeconfig"
	"mullion.dev/mullion/internal/cluster/layout"
)

func (a *app) kubeconfig() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the administrator's kubeconfig of the cluster",
		Long: `Prints the administrator's kubeconfig. Keep it secret: it gives every right in the cluster. mullion up has
already added a context for the cluster to your own kubeconfig.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			paths, err := a.paths()
			if err != nil {
				return err
			}
			text, err := os.ReadFile(paths.AdminKubeconfig())
			if err != nil {
				return noCluster(paths.Data, err)
			}
			_, err = a.env.Out.Write(text)
			return err
		},
	}
}

// personal is the kubeconfig of the person who uses the cluster; the zero value is none.
type personal struct {
	target kubeconfig.Target
	set    bool
}

// personal finds the person's kubeconfig: the file of the flag, or the one that kubectl would use. With "none" there is
// none.
func (a *app) personal(flag string) (personal, error) {
	switch flag {
	case "none":
		return personal{}, nil
	case "":
		target, err := kubeconfig.Locate(a.env.Environ)
		if err != nil {
			return personal{}, usage(err, "set KUBECONFIG, or use --kubeconfig FILE or --kubeconfig none")
		}
		return personal{target: target, set: true}, nil
	}
	return personal{target: kubeconfig.Target{Paths: []string{flag}}, set: true}, nil
}

// check reads the files, so that a broken one is found before anything is brought up.
func (p personal) check() error {
	if err := kubeconfig.Check(p.target); err != nil {
		return &Error{Code: ExitUsage, Err: err, Remedy: "correct or move that file, or use --kubeconfig"}
	}
	return nil
}

// merge adds the cluster's context and returns a sentence about it.
func (p personal) merge(ctx context.Context, paths layout.Paths, name string) (string, error) {
	if !p.set {
		return "No kubeconfig was changed; `mullion kubeconfig` prints one.", nil
	}
	config, err := clientcmd.LoadFromFile(paths.AdminKubeconfig())
	if err != nil {
		return "", err
	}
	file, err := kubeconfig.Merge(ctx, p.target, name, paths.Data, config)
	if err != nil {
		return "", &Error{
			Code:   ExitConflict,
			Err:    err,
			Remedy: "the cluster is up: `mullion kubectl` works; rename the context in that file, or use --kubeconfig",
		}
	}
	return fmt.Sprintf("The context %q in %s is the current one.", name, file), nil
}

func (p personal) remove(ctx context.Context, paths layout.Paths, name string) error {
	if !p.set {
		return nil
	}
	return kubeconfig.Remove(ctx, p.target, name, paths.Data)
}
