package join

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/spec"
)

func (a *tokens) create() *cobra.Command {
	var ttl time.Duration
	var description string
	var command, windows bool

	cmd := &cobra.Command{
		Use:     "create [TOKEN]",
		Short:   "Make a token, or add one of your own to the cluster, and print it",
		Example: "  mullion token create --print-join-command\n  mullion token create --print-windows\n  mullion token create abcdef.0123456789abcdef --ttl 1h",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Misuse(fmt.Errorf("`%s` takes at most one token, got %d", cmd.CommandPath(), len(args)),
					"see `mullion token create --help`")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			shape := (*tokens).alone
			switch {
			case command && windows:
				return exit.Misuse(errors.New("--print-join-command and --print-windows exclude each other"),
					"the first is for a machine with Mullion, the second for a Windows Server")
			case command:
				shape = (*tokens).forMachine
			case windows:
				shape = (*tokens).forWindows
			}

			return a.make(cmd.Context(), args, ttl, description, shape)
		},
	}

	cmd.Flags().DurationVar(&ttl, "ttl", bootstrap.DefaultTokenLife, "how long the token is valid; 0 is for ever")
	cmd.Flags().StringVar(&description, "description", "", "a note on what the token is for")
	cmd.Flags().BoolVar(&command, "print-join-command", false,
		"print the whole command with which a machine joins, instead of the token alone")
	cmd.Flags().BoolVar(&windows, "print-windows", false,
		"print the PowerShell line with which a Windows Server joins by mullion-agent.exe, instead of the token alone")

	return cmd
}

// tokenText is what `mullion token create` prints of a token.
type tokenText func(bootstrap.Token) (string, error)

// alone, forMachine and forWindows look for what they print beside the token, before there is one.
func (a *tokens) alone(layout.Paths, spec.Cluster) (tokenText, error) {
	return func(t bootstrap.Token) (string, error) { return t.String(), nil }, nil
}

func (a *tokens) forMachine(paths layout.Paths, c spec.Cluster) (tokenText, error) {
	return func(t bootstrap.Token) (string, error) { return join.CommandLine(paths, c, t) }, nil
}

// forWindows returns one line of PowerShell. The agent is brought to the server by hand; the line holds it to the
// file that lies beside mullion, so that it does not matter by which way it came.
func (a *tokens) forWindows(paths layout.Paths, c spec.Cluster) (tokenText, error) {
	agent := filepath.Join(filepath.Dir(a.Env.Executable), "windows", "mullion-agent.exe")
	data, err := os.ReadFile(agent)
	if err != nil {
		return nil, &exit.Error{
			Code:   exit.Requirement,
			Err:    fmt.Errorf("read the agent for Windows: %w", err),
			Remedy: "`make agent` builds it",
		}
	}

	hash, err := join.AuthorityHash(paths)
	if err != nil {
		return nil, err
	}

	return func(t bootstrap.Token) (string, error) {
		fmt.Fprintf(a.Env.Err, "Copy %s and the bundles of programs to a folder on the Windows Server, "+
			"and run this there as administrator:\n", agent)
		return fmt.Sprintf(`if ((Get-FileHash .\mullion-agent.exe).Hash -ne '%X') `+
			`{ throw 'mullion-agent.exe is not the file of the cluster''s machine' }; `+
			`.\mullion-agent.exe join %s:%d --token %s --discovery-token-ca-cert-hash %s --bundle .`,
			sha256.Sum256(data), c.Networking.AdvertiseAddress, c.Networking.APIServerPort, t, hash), nil
	}, nil
}

func (a *tokens) make(ctx context.Context, args []string, ttl time.Duration, description string,
	line func(*tokens, layout.Paths, spec.Cluster) (tokenText, error),
) error {
	if ttl < 0 {
		return exit.Misuse(fmt.Errorf("--ttl %s is in the past", ttl), "for example --ttl 2h; 0 is for ever")
	}

	var own discovery.Token
	if len(args) > 0 {
		var err error
		if own, err = discovery.ParseToken(args[0]); err != nil {
			return exit.Misuse(fmt.Errorf("read the token: %w", err), "leave the token out to have one made")
		}
	}

	paths, err := a.Paths()
	if err != nil {
		return err
	}

	client, c, err := a.Admin(paths)
	if err != nil {
		return err
	}
	if err := remedy.NotJoinable(c); err != nil {
		return err
	}

	text, err := line(a, paths, c)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	var t bootstrap.Token
	if len(args) > 0 {
		t, err = bootstrap.CreateToken(ctx, client, bootstrap.Token{ID: own.ID, Secret: own.Secret}, ttl, description)
	} else {
		t, err = bootstrap.NewToken(ctx, client, ttl, description)
	}

	if apierrors.IsAlreadyExists(err) {
		return &exit.Error{
			Code:   exit.Conflict,
			Err:    fmt.Errorf("the cluster already has a token with the ID %q", own.ID),
			Remedy: "delete it first (`mullion token delete " + own.ID + "`), or choose another ID (the first six characters)",
		}
	}

	if err != nil {
		return err
	}
	told, err := text(t)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Env.Out, told)
	return err
}

func (a *tokens) list() *cobra.Command {
	var output string

	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the cluster's tokens, without their secrets",
		Args:  cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tokens, err := a.all(cmd.Context())
			if err != nil {
				return err
			}
			if output == "json" {
				return json.NewEncoder(a.Env.Out).Encode(tokens)
			}

			t := tabwriter.NewWriter(a.Env.Out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "TOKEN\tEXPIRES\tDESCRIPTION")
			for _, token := range tokens {
				ends := "never"
				if token.Ends != nil {
					ends = token.Ends.Format(time.RFC3339)
				}
				fmt.Fprintf(t, "%s\t%s\t%s\n", token.ID, ends, token.Description)
			}

			return t.Flush()
		},
	}

	cmdline.Output(cmd, &output)
	return cmd
}

func (a *tokens) all(ctx context.Context) ([]bootstrap.TokenInfo, error) {
	paths, err := a.Paths()
	if err != nil {
		return nil, err
	}
	client, _, err := a.Admin(paths)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	return bootstrap.Tokens(ctx, client)
}

func (a *tokens) delete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete TOKEN",
		Short: "Delete a token, named by its ID (the first six characters) or in full",
		Args:  cmdline.Exactly("TOKEN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := args[0]
			if whole, err := discovery.ParseToken(id); err == nil {
				id = whole.ID
			}
			return a.take(cmd.Context(), id)
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			tokens, err := a.all(cmd.Context())
			var ids []string
			for _, t := range tokens {
				ids = append(ids, t.ID)
			}

			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func (a *tokens) take(ctx context.Context, id string) error {
	tokens, err := a.all(ctx)
	if err != nil {
		return err
	}

	if !slices.ContainsFunc(tokens, func(t bootstrap.TokenInfo) bool { return t.ID == id }) {
		return &exit.Error{
			Code:   exit.NotFound,
			Err:    errors.New("the cluster has no such token"),
			Remedy: "`mullion token list` lists them",
		}
	}

	paths, err := a.Paths()
	if err != nil {
		return err
	}
	client, _, err := a.Admin(paths)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	return bootstrap.RemoveToken(ctx, client, id)
}

// tokens is `mullion token` with the commands below it.
type tokens struct{ *reader.Reader }

// NewToken returns the command `mullion token` with those below it.
func NewToken(r *reader.Reader) *cobra.Command {
	a := &tokens{r}
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and delete the tokens with which machines join",
		Long: `A bootstrap token has kubeadm's form: an ID of six characters, which is no secret, a dot, and a secret of sixteen
characters. The control plane removes a token when it expires; nodes that joined with it stay.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.create(), a.list(), a.delete())
	return cmd
}
