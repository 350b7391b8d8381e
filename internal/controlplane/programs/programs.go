// Package programs runs the control plane's upstream programs inside the calling process. It is the only package that
// imports them: they are most of the binary, and their packages register flags, metrics and feature gates for the whole
// process when it starts. So a process runs one of them and nothing else, for its whole life.
package programs

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones of CronJobs, as upstream's main has it

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics, as upstream's main has it
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric, as upstream's main has it
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"mullion.dev/mullion/internal/controlplane"
)

// Names returns what Run can run.
func Names() []string {
	return []string{controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager, controlplane.Scheduler}
}

// Run runs the named program with its flags until it ends. etcd ends with ctx. The others install their own handlers
// for SIGTERM and SIGINT (upstream offers no other way), so ctx should come from signal.NotifyContext for the same
// signals: the API server and the scheduler then end in order, while the controller-manager, which upstream lets the
// signal kill, keeps running: Run returns, and the process must end.
func Run(ctx context.Context, name string, args []string) error {
	defer startGenerously().Stop()
	switch name {
	case controlplane.Etcd:
		return runEtcd(ctx, args)
	case controlplane.APIServer:
		return runCommand(apiserver.NewAPIServerCommand(), args)
	case controlplane.Scheduler:
		return runCommand(scheduler.NewSchedulerCommand(), args)
	case controlplane.ControllerManager:
		ended := make(chan error, 1)
		go func() { ended <- runCommand(controllermanager.NewControllerManagerCommand(), args) }()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		}
	}
	names := Names()
	slices.Sort(names)
	return fmt.Errorf("run component %q: there is no such component; known are %s", name, strings.Join(names, ", "))
}

// Garbage collection while a program starts: the program fills its caches then, and fewer collections make the start
// faster.
const (
	startCollectAt = 400 // percent
	startTime      = 20 * time.Second
)

// startGenerously makes garbage collections rare during the start; afterwards GOGC applies again.
func startGenerously() *time.Timer {
	steady := debug.SetGCPercent(startCollectAt)
	return time.AfterFunc(startTime, func() {
		debug.SetGCPercent(steady)
		debug.FreeOSMemory()
	})
}

func runCommand(command *cobra.Command, args []string) error {
	command.SetArgs(args)
	if err := cli.RunNoErrOutput(command); err != nil {
		return fmt.Errorf("run %s: %w", command.Name(), err)
	}
	return nil
}
