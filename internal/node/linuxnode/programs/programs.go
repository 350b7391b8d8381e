// Package programs runs a Linux node's upstream programs, kubelet and kube-proxy, inside the calling process. As with
// the control plane's, a process runs one of them and nothing else, for its whole life.
package programs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format, as upstream's main has it
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics, as upstream's main has it
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric, as upstream's main has it
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"mullion.dev/mullion/internal/node/kubenode"
)

// Names returns what Run can run.
func Names() []string { return []string{kubenode.Kubelet, kubenode.KubeProxy} }

// Run runs the named program with its flags until it ends. Both install their own handlers for signals.
func Run(ctx context.Context, name string, args []string) error {
	var command *cobra.Command
	switch name {
	case kubenode.Kubelet:
		command = kubelet.NewKubeletCommand(ctx)
	case kubenode.KubeProxy:
		command = kubeproxy.NewProxyCommand()
	default:
		return fmt.Errorf("run component %q: there is none of that name", name)
	}
	command.SetArgs(args)
	if err := cli.RunNoErrOutput(command); err != nil {
		return fmt.Errorf("run %s: %w", command.Name(), err)
	}
	return nil
}
