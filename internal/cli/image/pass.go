package image

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/runtime/bases"
	"mullion.dev/mullion/internal/runtime/image"
)

// forRunFlag is the flag of commands that work on the images of single containers.
func forRunFlag(cmd *cobra.Command, forRun *bool) {
	cmd.Flags().BoolVar(forRun, "run", false, "the images of single containers (mullion run), not the cluster's")
}

func (a *commands) tag() *cobra.Command {
	var forRun bool
	cmd := &cobra.Command{
		Use:   "tag REFERENCE NEW",
		Short: "Give a Windows image another reference",
		Args:  cmdline.Exactly("REFERENCE", "NEW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !forRun {
				return notHere(stores.Windows(cmd.Context(), a.Call, "", func(s *image.Store) error {
					return s.Tag(cmd.Context(), args[0], args[1])
				}), false)
			}
			client, err := a.storeForRun(cmd, "changes")
			if err != nil {
				return err
			}
			return notHere(client.Tag(cmd.Context(), args[0], args[1]), true)
		},
	}
	forRunFlag(cmd, &forRun)

	return cmd
}

func (a *commands) save() *cobra.Command {
	var forRun bool
	var output string
	cmd := &cobra.Command{
		Use:   "save REFERENCE [-o FILE]",
		Short: "Write a Windows image to an archive (an OCI layout)",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Misuse(fmt.Errorf("`%s` takes one REFERENCE, got %d", cmd.CommandPath(), len(args)), "an archive has one image here: save each into its own")
			}
			return cmdline.Exactly("REFERENCE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			write := func(to io.Writer) error { return a.saved(cmd, args[0], forRun, to) }
			switch {
			case output == "" && a.Env.Terminal:
				return exit.Misuse(errors.New("save: an archive is not for a terminal"), "name a file by --output, or pass it on: mullion image save REFERENCE | …")
			case output == "", output == "-":
				return write(a.Env.Out)
			}
			return atomicfile.Stream(output, 0o644, write)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the archive's file (default: standard output)")
	forRunFlag(cmd, &forRun)

	return cmd
}

// saved writes the archive of an image.
func (a *commands) saved(cmd *cobra.Command, ref string, forRun bool, to io.Writer) error {
	if !forRun {
		return notHere(stores.Windows(cmd.Context(), a.Call, "", func(s *image.Store) error {
			return s.Save(cmd.Context(), ref, to)
		}), false)
	}
	client, err := a.storeForRun(cmd, "reads")
	if err != nil {
		return err
	}
	return notHere(client.Save(cmd.Context(), ref, to), true)
}

func (a *commands) push() *cobra.Command {
	var forRun, passwordStdin, quiet bool
	var user string
	cmd := &cobra.Command{
		Use:   "push REFERENCE",
		Short: "Push a Windows image to the registry of its reference",
		Long: `Pushes an image to the registry of its reference, with the credentials that ` + "`docker login`" + ` has kept, or those of --user.
Windows' own layers, which are not here, are taken from the registry of the image's base.`,
		Example: `  mullion image tag mullion.local/app:v1 registry.example/app:v1
  mullion image push registry.example/app:v1
  mullion image push localhost:5000/app:v1 --run`,
		Args: cmdline.Exactly("REFERENCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			auth, err := a.registryAuth(user, passwordStdin)
			if err != nil {
				return err
			}
			return a.pushed(cmd, args[0], forRun, quiet, auth)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "name for the registry; needs --password-stdin")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false,
		"read the password or token for --user from standard input")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print the image's name alone")
	forRunFlag(cmd, &forRun)

	return cmd
}

// pushed pushes an image, which goes by a folder.
func (a *commands) pushed(cmd *cobra.Command, ref string, forRun, quiet bool, auth *image.Auth) (err error) {
	full, err := image.Normalize(ref)
	if err != nil {
		return exit.Misuse(err, "")
	}
	dir, remove, err := (&builds{a.Reader}).workFolder(cmd.Context())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()

	read, write := io.Pipe()
	go func() { write.CloseWithError(a.saved(cmd, full, forRun, write)) }()
	err = bases.Unpack(read, dir)
	_ = read.Close()
	if err != nil {
		return err
	}

	registry := bases.Registry{}
	if auth != nil {
		if registry.Keychain, err = onlyFor(full, auth); err != nil {
			return exit.Misuse(err, "")
		}
	}

	digest, err := registry.PushLayout(cmd.Context(), full, dir)
	if err != nil {
		return err
	}
	if quiet {
		_, err = fmt.Fprintln(a.Env.Out, full)
		return err
	}
	_, err = fmt.Fprintf(a.Env.Out, "pushed %s@%s\n", full, digest)
	return err
}

// only is a keychain of the credentials that a person has given for a registry. Others, which an image may name as
// those of its base, get what `docker login` has kept for them.
type only struct {
	*image.Auth

	registry string
}

// onlyFor returns the keychain for the registry of a reference.
func onlyFor(ref string, auth *image.Auth) (authn.Keychain, error) {
	named, err := name.ParseReference(ref)
	if err != nil {
		return nil, err
	}
	return only{auth, named.Context().RegistryStr()}, nil
}

// Resolve implements authn.Keychain.
func (o only) Resolve(of authn.Resource) (authn.Authenticator, error) {
	if of.RegistryStr() != o.registry {
		return authn.DefaultKeychain.Resolve(of)
	}
	return &authn.Basic{Username: o.Username, Password: o.Password}, nil
}

// ResolveContext implements authn.ContextKeychain.
func (o only) ResolveContext(_ context.Context, r authn.Resource) (authn.Authenticator, error) {
	return o.Resolve(r)
}

// notHere gives the error of an image that is not here its exit code.
func notHere(err error, forRun bool) error {
	if err == nil || !errdefs.IsNotFound(err) {
		return err
	}
	if forRun {
		return notForRun(err)
	}

	return &exit.Error{
		Code: exit.NotFound,
		Err:  err,
		Remedy: "`mullion image ls` lists those of the cluster; one for Linux is not passed on: `mullion image build --os " +
			"linux` writes it to a file (-o) or pushes it (--push) when it makes it",
	}
}
