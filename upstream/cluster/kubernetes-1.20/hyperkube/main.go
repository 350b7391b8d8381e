// Command hyperkube is the Linux programs of Kubernetes 1.20 in one, as that of ../../kubernetes is of today's: the one
// that it is called as, through a link of that name, or that its first argument names.
//
// Each program is upstream's own: what runs here is what upstream's main functions run. What they import for its effect
// is imported here too.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // time zones

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/etcdmain"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs run with os.Args.
var programs = map[string]func() error{
	"etcd": func() error {
		etcdmain.Main() // it ends the process
		return nil
	},
	"kube-apiserver":          func() error { return run(apiserver.NewAPIServerCommand) },
	"kube-controller-manager": func() error { return run(controllermanager.NewControllerManagerCommand) },
	"kube-scheduler": func() error {
		return run(func() *cobra.Command {
			c := scheduler.NewSchedulerCommand()
			pflag.CommandLine.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
			return c
		})
	},
	"kubelet": func() error { return run(kubelet.NewKubeletCommand) },
	"kube-proxy": func() error {
		return run(func() *cobra.Command {
			c := kubeproxy.NewProxyCommand()
			pflag.CommandLine.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
			pflag.CommandLine.AddGoFlagSet(flag.CommandLine)
			return c
		})
	},
}

// run is what each of upstream's main functions does with its command.
func run(command func() *cobra.Command) error {
	rand.Seed(time.Now().UnixNano()) //nolint:staticcheck // as upstream's
	c := command()
	logs.InitLogs()
	defer logs.FlushLogs()

	return c.Execute()
}

func main() {
	name := filepath.Base(os.Args[0])
	program, ok := programs[name]
	if !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
		program, ok = programs[name]
	}
	if !ok {
		var names []string
		for n := range programs {
			names = append(names, n)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "hyperkube: %q is none of its programs: %s\n", name, strings.Join(names, ", "))
		os.Exit(2)
	}

	if err := program(); err != nil { // the command has said it
		os.Exit(1)
	}
}
