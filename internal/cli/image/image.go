// Package image owns `mullion image`: building images, and loading, pulling, listing and removing those of a cluster.
package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/containerd/log"
	"github.com/spf13/cobra"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

// commands are `mullion image`.
type commands struct{ *reader.Reader }

// New returns the command with those below it.
func New(r *reader.Reader) *cobra.Command {
	a := &commands{r}
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build, load, pull, tag, save, push, list and remove images",
		Long: `Works on the cluster's images. All Windows nodes share one store, and each sees the images in it that fit its Windows
build. Windows base images (nanoserver, servercore) are recognised; they are not needed and not pulled. Every
Linux node has a store of its own.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}

	cmd.AddCommand(
		(&builds{r}).command(), a.kubeadm(), a.load(), a.pull(),
		a.list(), a.remove(), a.tag(), a.save(), a.push(),
	)
	return cmd
}

func (a *commands) load() *cobra.Command {
	var forRun bool
	var tag string
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Load the images of an archive (docker save, or an OCI layout; - for standard input)",
		Args:  cmdline.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if forRun {
				return a.loadForRun(cmd, args[0], tag)
			}
			return stores.LoadFile(cmd.Context(), a.Call, args[0], tag)
		},
	}
	cmd.Flags().BoolVar(&forRun, "run", false, "load them for single containers (mullion run), not for the cluster")
	cmd.Flags().StringVarP(&tag, "tag", "t", "", "reference of an image for Windows to which the archive gives none, as buildah may")

	return cmd
}

// loadForRun loads the images of an archive into the store of single containers.
func (a *commands) loadForRun(cmd *cobra.Command, file, tag string) error {
	if err := a.RequireRoot("loads images into the store of single containers"); err != nil {
		return err
	}
	archive, err := stores.OpenArchive(cmd.Context(), a.Call, file)
	if err != nil {
		return err
	}
	defer archive.Close()

	client, err := engine.Client(a.Call, cmd)
	if err != nil {
		return err
	}
	refs, err := client.LoadAs(cmd.Context(), archive, tag)
	if err != nil {
		return fmt.Errorf("load %s: %w", file, err)
	}

	for _, ref := range refs {
		fmt.Fprintf(a.Env.Out, "%s is there for `mullion run`\n", ref)
	}

	return nil
}

func (a *commands) pull() *cobra.Command {
	var nodes []string
	var user, windows string
	var passwordStdin, forRun bool

	cmd := &cobra.Command{
		Use:   "pull REFERENCE",
		Short: "Pull an image for the cluster's nodes, or for single containers",
		Long: `Pulls an image for the cluster's nodes, or with --run for ` + "`mullion run`" + `, with the credentials that ` + "`docker login`" + ` or ` + "`podman login`" + ` has kept for its registry
in root's home (or in $DOCKER_CONFIG), or those of --user. Pods do not have them: theirs are imagePullSecrets.`,
		Example: `  mullion image pull registry.example/app:v2
  mullion image pull registry.example/app:v2 --user NAME --password-stdin < password-file
  mullion image pull registry.example/app:v2 --run`,
		Args: cmdline.Exactly("REFERENCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			auth, err := a.authFor(cmd.Context(), args[0], user, passwordStdin)
			if err != nil {
				return err
			}
			switch {
			case forRun && len(nodes) > 0:
				return exit.Misuse(errors.New("--node is for a cluster, and --run for single containers"), "leave one of them out")
			case forRun:
				return a.pullForRun(cmd, args[0], windows, auth)
			case windows != "":
				return exit.Misuse(errors.New("--windows-version is for single containers"), "--node says for which nodes of the cluster")
			}

			_, c, err := a.Cluster()
			if err != nil {
				return err
			}
			return a.pullAll(cmd.Context(), c, nodes, args[0], auth)
		},
	}

	cmd.Flags().StringSliceVar(&nodes, "node", nil, "pull for these nodes only (default: all)")
	cmd.Flags().StringVar(&user, "user", "", "name for the registry; needs --password-stdin")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false,
		"read the password or token for --user from standard input")
	cmd.Flags().StringVar(&windows, "windows-version", "", "with --run: the Windows that it is for (default: the image's own)")
	forRunFlag(cmd, &forRun)

	return cmd
}

// authFor returns the credentials to pull a reference with, nil for none: those of a user, or those that are kept. They
// are for its registry alone: what is asked in its place, a mirror, does not get them.
func (a *commands) authFor(ctx context.Context, ref, user string, passwordStdin bool) (*image.Auth, error) {
	auth, err := a.registryAuth(user, passwordStdin)
	if err == nil && auth == nil {
		return engine.KeptAuth(ctx, ref)
	}
	if err != nil {
		return nil, err
	}

	if auth.ServerAddress, err = image.ServerOf(ref); err != nil {
		return nil, exit.Misuse(err, "")
	}
	return auth, nil
}

// maxPassword is more than a registry's token has, in bytes.
const maxPassword = 64 << 10

// registryAuth returns the credentials for a registry; nil without a user. The password is never an argument, because
// every process of the machine can see arguments.
func (a *commands) registryAuth(user string, passwordStdin bool) (*image.Auth, error) {
	const remedy = "for example: mullion image pull REFERENCE --user NAME --password-stdin < password-file"
	switch {
	case strings.Contains(user, ":"):
		return nil, exit.Misuse(
			errors.New("--user takes only a name: a password among the arguments is visible to every process"), remedy)
	case user == "" && passwordStdin:
		return nil, exit.Misuse(errors.New("--password-stdin needs --user"), remedy)
	case user == "":
		return nil, nil // Nobody logs on.
	case !passwordStdin:
		return nil, exit.Misuse(errors.New("--user needs --password-stdin"), remedy)
	}

	data, err := io.ReadAll(io.LimitReader(a.Env.In, maxPassword))
	if err != nil {
		return nil, fmt.Errorf("read password from standard input: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if password == "" {
		return nil, exit.Misuse(errors.New("--password-stdin: standard input is empty"), remedy)
	}

	return &image.Auth{Username: user, Password: password}, nil
}

// pullAll pulls for the named nodes, or for all nodes with whose systems the image works: in a mixed cluster an image
// of a single system is no error.
func (a *commands) pullAll(ctx context.Context, c spec.Cluster, nodes []string, ref string, auth *image.Auth) error {
	if err := a.RequireRoot("changes the nodes' stores of images"); err != nil {
		return err
	}
	if _, err := cluster.ImageStoresOf(c, nodes); err != nil {
		return remedy.NotFound(err)
	}

	var pulls cluster.Pulls
	for _, n := range c.Nodes {
		if len(nodes) > 0 && !slices.Contains(nodes, n.Name) {
			continue
		}

		var err error
		if n.Linux() || n.OwnContainerd() {
			err = stores.OfNodes(ctx, a.Call, []string{n.Name},
				func(_ string, i *nodeimages.Images) error { return a.pullOwn(ctx, i, n, ref, auth) })
		} else {
			err = stores.Windows(ctx, a.Call, n.Name, func(s *image.Store) error {
				return a.pullFor(ctx, s, n.Name, ref, auth)
			})
		}

		if err != nil && (len(nodes) > 0 || !errdefs.IsNotFound(err)) {
			return remedy.NotFound(err)
		}
		pulls.Add(n.OS, err)
	}

	return remedy.NotFound(pulls.Err())
}

// pullOwn pulls an image into the store that a node has of its own.
func (a *commands) pullOwn(ctx context.Context, i *nodeimages.Images, node spec.Node, ref string,
	auth *image.Auth,
) error {
	var with *criapi.AuthConfig
	if auth != nil {
		with = &criapi.AuthConfig{
			Username:      auth.Username,
			Password:      auth.Password,
			Auth:          auth.Auth,
			IdentityToken: auth.IdentityToken,
			ServerAddress: auth.ServerAddress,
		}
	}
	id, err := i.Pull(ctx, ref, with)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Env.Out, "%s: %s is %s (%s)\n", node.Name, ref, id, node.OS)
	return err
}

func (a *commands) pullFor(ctx context.Context, s *image.Store, node, ref string, auth *image.Auth) error {
	// containerd's client tells of each address that it tries, such as HTTPS of a registry that has HTTP alone.
	if err := log.SetLevel("warn"); err != nil {
		return err
	}

	var mu sync.Mutex
	seen := map[string]bool{}
	info, err := s.PullRequest(ctx, image.Request{
		Ref:  ref,
		Auth: auth,
		Progress: func(p image.Progress) {
			mu.Lock()
			defer mu.Unlock()
			if key := p.Step + p.Digest; p.Digest != "" && !seen[key] {
				seen[key] = true
				fmt.Fprintf(a.Env.Out, "%s: %s %s %s\n", node, p.Step, p.Digest, p.Note)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("pull %s for node %s (%s): %w", ref, node, s.OSVersion(), err)
	}

	fmt.Fprintf(a.Env.Out, "%s: %s is %s (%s)\n", node, ref, info.ID, info.OSVersion)
	return nil
}
