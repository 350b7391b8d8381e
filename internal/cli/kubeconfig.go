package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/kubeconfig"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster/layout"
)

func (a *app) kubeconfig() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print a kubeconfig of the cluster: root the administrator's",
		Long: `Prints the administrator's kubeconfig, if you are root. Keep it secret: it gives every right in the cluster. mullion up has
already added a context for the cluster to your own kubeconfig.

Anybody else gets that context, with the same rights. Without one, who may read the cluster gets a kubeconfig that may
only read, and no secrets; it ends after twelve hours.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := a.Paths()
			if err != nil {
				return err
			}
			if a.Reads() {
				return a.printOwnKubeconfig(cmd.Context(), paths)
			}

			text, err := os.ReadFile(paths.AdminKubeconfig())
			if err != nil {
				return remedy.NoCluster(paths.Data, err)
			}
			_, err = a.Env.Out.Write(text)
			return err
		},
	}
}

// printOwnKubeconfig prints the kubeconfig of one who is not root.
func (a *app) printOwnKubeconfig(ctx context.Context, paths layout.Paths) error {
	x, err := a.Access(ctx, paths)
	if err != nil {
		return err
	}
	text, err := clientcmd.Write(*x.Config)
	if err != nil {
		return err
	}

	if x.Viewer {
		fmt.Fprintln(a.Env.Err, "mullion: this kubeconfig may only read; `sudo mullion kubeconfig` prints the administrator's")
	}
	_, err = a.Env.Out.Write(text)
	return err
}

// personal is the kubeconfig of the person who uses the cluster; its zero value stands for no file.
type personal struct {
	target kubeconfig.Target
	set    bool
}

// personal finds the person's kubeconfig: the file of the flag, or the one that kubectl would use. "none" turns it off.
func (a *app) personal(flag string) (personal, error) {
	switch flag {
	case "none":
		return personal{}, nil
	case "":
		target, err := kubeconfig.Locate(a.Env.Environ)
		if err != nil {
			return personal{}, exit.Misuse(err, "set KUBECONFIG, or use --kubeconfig FILE or --kubeconfig none")
		}
		return personal{target: target, set: true}, nil
	}
	return personal{target: kubeconfig.Target{Paths: []string{flag}}, set: true}, nil
}

// check reads the files, so that a broken one is found before anything is brought up.
func (p personal) check() error {
	if err := kubeconfig.Check(p.target); err != nil {
		return &exit.Error{
			Code:   exit.Usage,
			Err:    err,
			Remedy: "correct or move that file, or use --kubeconfig",
		}
	}
	return nil
}

// place is where a kubeconfig of the cluster is.
type place struct {
	file, context string
	// own says that the file is the person's.
	own bool
}

// text returns a sentence about it; program is how a person calls this program.
func (p place) text(program string) string {
	if !p.own {
		return fmt.Sprintf("No kubeconfig was changed; `%s kubeconfig` prints one.", program)
	}
	return fmt.Sprintf("The context %q in %s is the current one.", p.context, p.file)
}

// absolute returns the path of a file from everywhere; "" stays so.
func absolute(file string) string {
	if path, err := filepath.Abs(file); err == nil && file != "" {
		return path
	}
	return file
}

// merge adds the cluster's context and says where it is. Without a file of the person's it is the administrator's, if
// the cluster's control plane is here.
func (p personal) merge(ctx context.Context, paths layout.Paths, name string) (place, error) {
	config, err := clientcmd.LoadFromFile(paths.AdminKubeconfig())
	switch {
	case !p.set && errors.Is(err, os.ErrNotExist):
		return place{}, nil
	case err != nil:
		return place{}, err
	case !p.set:
		return place{file: paths.AdminKubeconfig(), context: config.CurrentContext}, nil
	}

	file, err := kubeconfig.Merge(ctx, p.target, name, paths.Data, config)
	if err != nil {
		return place{}, &exit.Error{
			Code:   exit.Conflict,
			Err:    err,
			Remedy: "the cluster is up: `mullion kubectl` works; rename the context in that file, or use --kubeconfig",
		}
	}

	return place{
		file:    file,
		context: name,
		own:     true,
	}, nil
}

func (p personal) remove(ctx context.Context, paths layout.Paths, name string) error {
	if !p.set {
		return nil
	}
	return kubeconfig.Remove(ctx, p.target, name, paths.Data)
}
