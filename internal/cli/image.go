package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/containerd/errdefs"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/image"
)

func (a *app) image() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build, load, pull, list and remove Windows images",
		Long: `Works on the cluster's images. All Windows nodes share one store, in which each sees what fits its Windows build; Windows
base images (nanoserver, servercore) are recognised and neither fetched nor needed.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.imageBuild(), a.imageLoad(), a.imagePull(), a.imageList(), a.imageRemove())
	return cmd
}

// withImages runs do on the store of a node, or of the whole machine for "".
func (a *app) withImages(node string, do func(*image.Store) error) error {
	paths, err := a.paths()
	if err != nil {
		return err
	}
	if err := a.requireRoot("mullion image"); err != nil {
		return err
	}
	if _, err := cluster.LoadSpec(paths); err != nil {
		return noCluster(paths.Data, err)
	}
	store, closeStore, err := cluster.Images(paths, node)
	if err != nil {
		return notFound(err)
	}
	err = do(store)
	if errdefs.IsUnavailable(err) {
		err = &Error{Code: ExitNotReady, Err: err, Remedy: "the cluster's containerd does not answer: see `mullion status`, or bring the cluster back with `mullion up`"}
	}
	return errors.Join(notFound(err), closeStore())
}

// notFound gives errors about things that are not there their exit code.
func notFound(err error) error {
	var node *cluster.NotFoundError
	if errors.As(err, &node) || errdefs.IsNotFound(err) {
		return &Error{Code: ExitNotFound, Err: err}
	}
	return err
}

func (a *app) imageLoad() *cobra.Command {
	return &cobra.Command{
		Use:   "load FILE",
		Short: "Load the images of an archive (docker save, or an OCI layout; - for standard input)",
		Args:  exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withImages("", func(s *image.Store) error { return a.loadArchive(cmd.Context(), s, args[0]) })
		},
	}
}

func (a *app) loadArchive(ctx context.Context, s *image.Store, file string) error {
	in := a.env.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return usage(fmt.Errorf("load images: %w", err), "name an archive that is there (docker save, or an OCI layout), or - for standard input")
		}
		defer f.Close()
		in = f
	}
	loaded, err := s.Load(ctx, in, image.LoadOptions{})
	if err != nil {
		return fmt.Errorf("load %s: %w", file, err)
	}
	for _, l := range loaded {
		var builds []string
		for _, i := range l.Images {
			builds = append(builds, i.OSVersion)
		}
		fmt.Fprintf(a.env.Out, "loaded %s (windows/amd64 %s)\n", l.Ref, strings.Join(builds, ", "))
	}
	return nil
}

func (a *app) imagePull() *cobra.Command {
	var nodes []string
	var user string
	var passwordStdin bool
	cmd := &cobra.Command{
		Use:   "pull REFERENCE",
		Short: "Pull an image for the cluster's Windows nodes",
		Example: `  mullion image pull registry.example/app:v2
  mullion image pull registry.example/app:v2 --user NAME --password-stdin < password-file`,
		Args: exactArgs("REFERENCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			auth, err := a.registryAuth(user, passwordStdin)
			if err != nil {
				return err
			}
			_, c, err := a.cluster()
			if err != nil {
				return err
			}
			if len(nodes) == 0 {
				for _, n := range c.Nodes {
					nodes = append(nodes, n.Name)
				}
			}
			for _, n := range nodes {
				if err := a.withImages(n, func(s *image.Store) error { return a.pullFor(cmd.Context(), s, n, args[0], auth) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&nodes, "node", nil, "pull for these nodes only (default: all)")
	cmd.Flags().StringVar(&user, "user", "", "name for the registry; needs --password-stdin")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password or token for --user from standard input")
	return cmd
}

// maxPassword is more than a registry's token has, in bytes.
const maxPassword = 64 << 10

// registryAuth is how to log on to a registry; nil without a user. The password is never an argument: every process of the
// machine can see those.
func (a *app) registryAuth(user string, passwordStdin bool) (*image.Auth, error) {
	const remedy = "for example: mullion image pull REFERENCE --user NAME --password-stdin < password-file"
	switch {
	case strings.Contains(user, ":"):
		return nil, usage(errors.New("--user takes a name alone: a password among the arguments is seen by every process"), remedy)
	case user == "" && passwordStdin:
		return nil, usage(errors.New("--password-stdin needs --user"), remedy)
	case user == "":
		return nil, nil //nolint:nilnil // Nobody logs on.
	case !passwordStdin:
		return nil, usage(errors.New("--user needs --password-stdin"), remedy)
	}
	data, err := io.ReadAll(io.LimitReader(a.env.In, maxPassword))
	if err != nil {
		return nil, fmt.Errorf("read password from standard input: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if password == "" {
		return nil, usage(errors.New("--password-stdin: standard input is empty"), remedy)
	}
	return &image.Auth{Username: user, Password: password}, nil
}

func (a *app) pullFor(ctx context.Context, s *image.Store, node, ref string, auth *image.Auth) error {
	var mu sync.Mutex
	seen := map[string]bool{}
	info, err := s.PullRequest(ctx, image.Request{Ref: ref, Auth: auth, Progress: func(p image.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if key := p.Step + p.Digest; p.Digest != "" && !seen[key] {
			seen[key] = true
			fmt.Fprintf(a.env.Out, "%s: %s %s %s\n", node, p.Step, p.Digest, p.Note)
		}
	}})
	if err != nil {
		return fmt.Errorf("pull %s for node %s (%s): %w", ref, node, s.OSVersion(), err)
	}
	fmt.Fprintf(a.env.Out, "%s: %s is %s (%s)\n", node, ref, info.ID, info.OSVersion)
	return nil
}

func (a *app) imageList() *cobra.Command {
	var node, output string
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the images",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withImages(node, func(s *image.Store) error {
				list, err := s.List(cmd.Context())
				if err != nil {
					return err
				}
				if output == "json" {
					return json.NewEncoder(a.env.Out).Encode(list)
				}
				t := tabwriter.NewWriter(a.env.Out, 0, 4, 2, ' ', 0)
				fmt.Fprintln(t, "IMAGE\tID\tOS VERSION\tSIZE")
				for _, i := range list {
					for _, ref := range append(i.RepoTags, i.RepoDigests...) {
						fmt.Fprintf(t, "%s\t%.19s\t%s\t%.1f MB\n", ref, i.ID, i.OSVersion, float64(i.Size)/1e6)
					}
				}
				return t.Flush()
			})
		},
	}
	cmd.Flags().StringVar(&node, "node", "", "only what this node sees")
	outputFlag(cmd, &output)
	return cmd
}

func (a *app) imageRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "rm IMAGE…",
		Aliases: []string{"remove"},
		Short:   "Remove images, by reference or ID",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("`mullion image rm` takes at least one IMAGE, got none"), "`mullion image ls` lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withImages("", func(s *image.Store) error {
				for _, ref := range args {
					if err := a.removeOne(cmd.Context(), s, ref); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (a *app) removeOne(ctx context.Context, s *image.Store, ref string) error {
	if _, err := s.Get(ctx, ref); err != nil {
		return err
	}
	if err := s.Remove(ctx, ref); err != nil {
		return fmt.Errorf("remove %s: %w", ref, err)
	}
	_, err := fmt.Fprintf(a.env.Out, "removed %s\n", ref)
	return err
}
