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
Linux node has a store of its own.

With --run each of these works on the images of single containers, which are others: those of ` + "`mullion run`" + `.`,
		Example: `  mullion image build . -t registry.example/app:v1 --run
  mullion image ls --run
  mullion image load app.tar`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}

	cmd.AddCommand(
		(&builds{r}).command(), a.kubeadm(), a.load(), a.pull(),
		a.list(), looks{a}.inspect(), looks{a}.history(), a.remove(), looks{a}.prune(), a.tag(), a.save(), a.push(),
	)
	for _, c := range cmd.Commands() {
		do := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error { return orForRun(do(cmd, args)) }
	}
	return cmd
}

// orForRun has the error of a cluster that is not there name the other place that has images.
func orForRun(err error) error {
	own, ok := errors.AsType[*exit.Error](err)
	var noCluster *exit.Error
	if !ok || !errors.As(remedy.NoCluster("", nil), &noCluster) || own.Remedy != noCluster.Remedy {
		return err
	}
	with := *own
	with.Remedy = "`--run` is for the images of single containers, those of `mullion run`; for a cluster's " + own.Remedy
	return &with
}

func (a *commands) load() *cobra.Command {
	var forRun bool
	var tag, input string
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Load the images of an archive (docker save, or an OCI layout; - for standard input)",
		Args: func(cmd *cobra.Command, args []string) error {
			if input != "" && len(args) == 0 {
				return nil
			}
			return cmdline.Exactly("FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case input == "":
				input = args[0]
			case len(args) > 0:
				return exit.Misuse(fmt.Errorf("%q and --input %q are two archives", args[0], input), "leave one of them out")
			}
			if forRun {
				return a.loadForRun(cmd, input, tag)
			}
			return stores.LoadFile(cmd.Context(), a.Call, input, tag)
		},
	}
	cmd.Flags().StringVarP(&input, "input", "i", "", "FILE by Docker's flag for it")
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

// pullOptions are the flags of `mullion image pull`.
type pullOptions struct {
	nodes                   []string
	user, windows, platform string
	passwordStdin, forRun   bool
	quiet                   bool
}

func (a *commands) pull() *cobra.Command {
	var o pullOptions
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
			if !o.quiet {
				return a.pullAs(cmd, args[0], o)
			}

			// Of a quiet pull the name is said, as with Docker.
			silent := &commands{a.ReaderTo(io.Discard)}
			if err := silent.pullAs(cmd, args[0], o); err != nil {
				return err
			}
			full, err := image.Normalize(args[0])
			if err != nil {
				return exit.Misuse(err, "")
			}
			_, err = fmt.Fprintln(a.Env.Out, full)
			return err
		},
	}

	cmd.Flags().StringSliceVar(&o.nodes, "node", nil, "pull for these nodes only (default: all)")
	cmd.Flags().StringVar(&o.user, "user", "", "name for the registry; needs --password-stdin")
	cmd.Flags().BoolVar(&o.passwordStdin, "password-stdin", false,
		"read the password or token for --user from standard input")
	cmd.Flags().StringVar(&o.windows, "windows-version", "", "with --run: the Windows that it is for (default: the image's own)")
	cmd.Flags().StringVar(&o.platform, "platform", "", "windows/amd64, which is all that --run has")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print the image's name alone")
	forRunFlag(cmd, &o.forRun)

	return cmd
}

// pullAs pulls an image as the flags say.
func (a *commands) pullAs(cmd *cobra.Command, ref string, o pullOptions) error {
	if err := o.checkPlatform(); err != nil {
		return err
	}
	auth, err := a.authFor(cmd.Context(), ref, o.user, o.passwordStdin)
	if err != nil {
		return err
	}
	switch {
	case o.forRun && len(o.nodes) > 0:
		return exit.Misuse(errors.New("--node is for a cluster, and --run for single containers"), "leave one of them out")
	case o.forRun:
		return a.pullForRun(cmd, ref, o.windows, auth)
	case o.windows != "":
		return exit.Misuse(errors.New("--windows-version is for single containers"), "--node says for which nodes of the cluster")
	}

	_, c, err := a.Cluster()
	if err != nil {
		return err
	}
	return a.pullAll(cmd.Context(), c, o.nodes, ref, auth)
}

// checkPlatform refuses a platform that single containers do not have. Of a cluster the nodes say it.
func (o pullOptions) checkPlatform() error {
	switch system, processor, _ := strings.Cut(strings.ToLower(o.platform), "/"); {
	case o.platform == "":
		return nil
	case !o.forRun:
		return exit.Misuse(errors.New("--platform is for --run: of a cluster each node gets what is for it"), "--node names some of them")
	case system == "linux":
		return exit.Misuse(fmt.Errorf("--platform %s: single containers are of Windows", o.platform), "`docker pull` pulls those of Linux")
	case system != "windows" || (processor != "" && processor != "amd64"):
		return exit.Misuse(fmt.Errorf("--platform %q: it is windows/amd64 alone", o.platform), "leave it out")
	}
	return nil
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
