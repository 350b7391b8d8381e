// Command hyperkube is the Linux programs of Kubernetes in one: kube-apiserver, kube-controller-manager, kube-scheduler,
// kubelet, kube-proxy, and etcd. It is the one that it is called as, through a link of that name, or that its first
// argument names. One program of all is a quarter of the size of six. Their packages register flags, metrics and feature
// gates for the whole process when it starts, so a process is one of them for its whole life.
//
// kubectl is a program of its own: people wait for its start, and all that the others register takes a quarter of a
// second.
//
// Each program is upstream's own: what runs here is what upstream's main functions run. What they import for its effect
// is imported here too.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones of CronJobs

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs run with os.Args and return the code that the process ends with.
var programs = map[string]func() int{
	"etcd": func() int {
		startGenerously()
		etcdmain.Main(os.Args) // it ends the process
		return 0
	},
	"kube-apiserver": func() int {
		startGenerously()
		return cli.Run(apiserver.NewAPIServerCommand())
	},
	"kube-controller-manager": func() int {
		startGenerously()
		return cli.Run(controllermanager.NewControllerManagerCommand())
	},
	"kube-scheduler": func() int {
		startGenerously()
		return cli.Run(scheduler.NewSchedulerCommand())
	},
	"kubelet":    func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"kube-proxy": func() int { return cli.Run(kubeproxy.NewProxyCommand()) },
}

func main() {
	name := filepath.Base(os.Args[0])
	run, ok := programs[name]
	if !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
		run, ok = programs[name]
	}
	if !ok {
		var names []string
		for n := range programs {
			names = append(names, n)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "hyperkube: %q is none of its programs: %s\n", name, strings.Join(names, ", "))
		os.Exit(2)
	}
	os.Exit(run())
}

// Garbage collection while a program of the control plane starts: it fills its caches then, and fewer collections make
// the start faster.
const (
	startCollectAt = 400 // percent
	startTime      = 20 * time.Second
)

// startGenerously makes garbage collections rare during the start; afterwards GOGC applies again.
func startGenerously() {
	steady := debug.SetGCPercent(startCollectAt)
	time.AfterFunc(startTime, func() {
		debug.SetGCPercent(steady)
		debug.FreeOSMemory()
	})
}
