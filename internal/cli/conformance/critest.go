package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/hosts"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/conformance/images"
	"mullion.dev/mullion/internal/conformance/runner"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/windows/wine"
)

// critestProgram is where `make critest` puts critest.exe, below the folder of Mullion's programs.
const critestProgram = "e2e/windows/critest.exe"

// critestDir is the folder of a run on a node's C: drive.
const critestDir = `C:\ProgramData\Mullion\critest`

// critestImages names images to be used instead of those that critest would pull, in critest's own form
// (https://github.com/kubernetes-sigs/cri-tools/blob/v1.36.0/pkg/framework/test_context.go, TestImageList).
const critestImages = "defaultTestContainerImage: registry.k8s.io/e2e-test-images/busybox:1.37.0-2\nwebServerTestImage: registry.k8s.io/e2e-test-images/nginx:1.28.0-2\n"

func (a *commands) critest() *cobra.Command {
	c := runner.Critest{Version: "v1.36.0"}
	var program string
	cmd := &cobra.Command{
		Use:   "critest",
		Short: "Run cri-tools' tests of container runtimes on a Windows node, and write a page with the results",
		Long: `Runs critest on the host of a Windows node of the cluster that is up, to test the node's container runtime.
critest is built unpatched for Windows from the pinned cri-tools. The node's kubelet is paused during the tests,
because it would remove what they make. So the node is no longer Ready after a minute, and its pods move to other
nodes after five more minutes. The kubelet goes on as soon as the tests or this command end. The results are kept
like those of a suite, under the name critest. The exit code is 7 if a test failed.

  make critest                    builds it (a minute more than make build)`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runCritest(cmd.Context(), c, program) },
	}

	cmd.Flags().StringVar(&c.Node, "node", "", "the node (default: the first Windows node)")
	cmd.Flags().StringVar(&c.Focus, "focus", "", "regular expression of the tests to run")
	cmd.Flags().StringVar(&c.Skip, "skip", "", "regular expression of tests to leave out")
	cmd.Flags().StringVar(&program, "critest", "", "a critest.exe (default: the one that \"make critest\" has built)")
	resultsFlag(cmd, &c.Results)

	return cmd
}

func (a *commands) runCritest(ctx context.Context, c runner.Critest, program string) error {
	if program == "" {
		program = filepath.Join(filepath.Dir(a.Env.Executable), filepath.FromSlash(critestProgram))
	}

	if _, err := os.Stat(program); err != nil {
		return &exit.Error{
			Code:   exit.Requirement,
			Err:    err,
			Remedy: "`make critest` builds it; --critest names another critest.exe",
		}
	}

	c.Mullion = version.Mullion()
	c.StandIns = images.StandIns()
	c.Progress = a.progress(time.Now)
	if err := a.ownCluster(ctx, &c.Config); err != nil {
		return err
	}

	paths, err := a.Paths()
	if err != nil {
		return err
	}

	c.Exec = func(ctx context.Context, node string, args []string, log io.Writer) ([]byte, error) {
		drive := wine.Drive(cluster.HostPrefix(paths, node))
		dir, err := wine.UnixPath(drive, critestDir)
		if err != nil {
			return nil, err
		}

		resume, err := pauseKubelet(ctx, paths, node)
		if err != nil {
			return nil, err
		}
		defer resume()
		report, err := a.critestOn(ctx, critestRun{
			node: node, drive: drive, dir: dir, program: program, args: args, log: log,
		})

		return report, errors.Join(err, os.RemoveAll(dir))
	}

	folder, err := c.Run(ctx)
	return a.end(folder, runner.CritestSuite, c.Results, err)
}

// pauseKubelet pauses a node's kubelet, which otherwise removes pods and containers that the API does not know. resume
// lets it go on; so does the end of this program, even by kill -9.
func pauseKubelet(ctx context.Context, paths layout.Paths, node string) (resume func(), err error) {
	resume, err = supervisor.NewClient(paths.Socket()).Pause(ctx, component.OfNode("kubelet", node))
	if err != nil {
		return nil, &exit.Error{
			Code:   exit.NotReady,
			Err:    fmt.Errorf("pause the kubelet of %q: %w", node, err),
			Remedy: "`mullion status` shows the kubelet's state",
		}
	}
	return resume, nil
}

// critestRun is one run of critest on a node.
type critestRun struct {
	node    string
	drive   string // the folder that is the node's C:
	dir     string // the path of critestDir on this machine, beneath drive
	program string // the critest.exe
	args    []string
	log     io.Writer
}

// mostOfReport bounds the report of critest, in bytes.
const mostOfReport = 64 << 20

// place returns the place of a file of the folder.
func (r critestRun) place(name string) hosts.Place {
	return hosts.Place{Path: filepath.Join(r.dir, name), Drive: r.drive}
}

// critestOn runs critest on a node from a folder of its C: drive, and returns its report.
func (a *commands) critestOn(ctx context.Context, r critestRun) ([]byte, error) {
	defer interrupt.Finishing(ctx)()
	err := r.place("images.yaml").Within(func(drive *os.Root, name string) error {
		return beneath.Write(drive, name, []byte(critestImages), 0o644)
	})
	if err != nil {
		return nil, fmt.Errorf("write images of critest on node %q: %w", r.node, err)
	}

	if err := hosts.Copy(hosts.Place{Path: r.program}, r.place("critest.exe")); err != nil {
		return nil, err
	}

	h, err := hosts.Windows(a.Call, r.node)
	if err != nil {
		return nil, err
	}
	argv := append([]string{
		"--cwd", critestDir, "--", critestDir + `\critest.exe`, "-runtime-endpoint=" + winnode.CRIEndpoint,
		"-image-endpoint=" + winnode.CRIEndpoint, "-test-images-file=" + critestDir + `\images.yaml`,
		"-ginkgo.json-report=" + critestDir + `\report.json`,
	}, r.args...)

	child := h.Command(context.WithoutCancel(ctx), wine.RunProgram, argv...)
	child.Stdin = nil
	child.Stdout = r.log
	child.Stderr = r.log
	stop := context.AfterFunc(ctx, func() {
		if child.Process != nil {
			_ = child.Process.Kill() // a program that has ended needs no signal
		}
	})

	defer stop()

	err = h.Run(context.WithoutCancel(ctx), child)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) { // a test that failed is in the report
		return nil, err
	}

	var report []byte
	err = r.place("report.json").Within(func(drive *os.Root, name string) (err error) {
		report, err = beneath.Read(drive, name, mostOfReport)
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}

	return report, err
}
