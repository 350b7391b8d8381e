package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster/layout"
)

// Personal is the kubeconfig of the person who uses the cluster; its zero value stands for no file.
type Personal struct {
	target Target
	set    bool
}

// PersonalOf finds the person's kubeconfig: the file of the flag, or the one that kubectl would use. "none" turns it
// off.
func PersonalOf(environ []string, flag string) (Personal, error) {
	switch flag {
	case "none":
		return Personal{}, nil
	case "":
		target, err := Locate(environ)
		if err != nil {
			return Personal{}, exit.Misuse(err, "set KUBECONFIG, or use --kubeconfig FILE or --kubeconfig none")
		}
		return Personal{target: target, set: true}, nil
	}
	return Personal{target: Target{Paths: []string{flag}}, set: true}, nil
}

// Check reads the files, so that a broken one is found before anything is brought up.
func (p Personal) Check() error {
	if err := Check(p.target); err != nil {
		return &exit.Error{
			Code:   exit.Usage,
			Err:    err,
			Remedy: "correct or move that file, or use --kubeconfig",
		}
	}
	return nil
}

// Place is where a kubeconfig of the cluster is.
type Place struct {
	// File has it, and Context is its name there.
	File, Context string
	// Own says that the file is the person's.
	Own bool
}

// Text returns a sentence about it; program is how a person calls this program.
func (p Place) Text(program string) string {
	if !p.Own {
		return fmt.Sprintf("No kubeconfig was changed; `%s kubeconfig` prints one.", program)
	}
	return fmt.Sprintf("The context %q in %s is the current one.", p.Context, p.File)
}

// Path returns the path of the file from everywhere; "" stays so.
func (p Place) Path() string {
	if path, err := filepath.Abs(p.File); err == nil && p.File != "" {
		return path
	}
	return p.File
}

// Merge adds the cluster's context and says where it is. Without a file of the person's it is the administrator's, if
// the cluster's control plane is here.
func (p Personal) Merge(ctx context.Context, paths layout.Paths, name string) (Place, error) {
	config, err := clientcmd.LoadFromFile(paths.AdminKubeconfig())
	switch {
	case !p.set && errors.Is(err, os.ErrNotExist):
		return Place{}, nil
	case err != nil:
		return Place{}, err
	case !p.set:
		return Place{File: paths.AdminKubeconfig(), Context: config.CurrentContext}, nil
	}

	file, err := Merge(ctx, p.target, name, paths.Data, config)
	if err != nil {
		return Place{}, &exit.Error{
			Code:   exit.Conflict,
			Err:    err,
			Remedy: "the cluster is up: `mullion kubectl` works; rename the context in that file, or use --kubeconfig",
		}
	}

	return Place{
		File:    file,
		Context: name,
		Own:     true,
	}, nil
}

// Remove takes the cluster's context out.
func (p Personal) Remove(ctx context.Context, paths layout.Paths, name string) error {
	if !p.set {
		return nil
	}
	return Remove(ctx, p.target, name, paths.Data)
}
