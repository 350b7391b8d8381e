// Command mullion-policy is a CNI plugin, the last of a Linux node's: it changes nothing, and succeeds when the
// NetworkPolicies of the pod that the others have connected are carried out. See package cover.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"

	"mullion.dev/mullion/internal/network/policy/cover"
)

// conf is the plugin's part of the CNI configuration.
type conf struct {
	types.PluginConf
	// Socket is where the node's policies are carried out.
	Socket string `json:"socket"`
}

// args are the CNI_ARGS that container runtimes set for Kubernetes' pods.
type args struct {
	types.CommonArgs
	K8S_POD_NAMESPACE, K8S_POD_NAME, K8S_POD_UID types.UnmarshallableString //nolint:revive // their names
}

func main() {
	skel.PluginMainFuncs(skel.CNIFuncs{
		Add:   add,
		Del:   nothing,
		Check: nothing,
	}, version.All, "mullion-policy")
}

func nothing(*skel.CmdArgs) error { return nil }

func add(cmd *skel.CmdArgs) error {
	var c conf
	if err := json.Unmarshal(cmd.StdinData, &c); err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if err := version.ParsePrevResult(&c.PluginConf); err != nil {
		return err
	}

	if c.PrevResult == nil {
		return fmt.Errorf("plugin %q has to come after one that connects the pod", c.Type)
	}
	result, err := current.NewResultFromResult(c.PrevResult)
	if err != nil {
		return fmt.Errorf("read the result of the plugin before: %w", err)
	}

	var of args
	if err := types.LoadArgs(cmd.Args, &of); err != nil {
		return fmt.Errorf("read CNI_ARGS: %w", err)
	}
	pod := cover.Pod{
		Namespace: string(of.K8S_POD_NAMESPACE),
		Name:      string(of.K8S_POD_NAME),
		UID:       string(of.K8S_POD_UID),
	}

	for _, ip := range result.IPs {
		if a, ok := netip.AddrFromSlice(ip.Address.IP); ok {
			pod.Addresses = append(pod.Addresses, a.Unmap())
		}
	}

	if err := cover.Ask(context.Background(), c.Socket, pod); err != nil {
		return err
	}
	return types.PrintResult(c.PrevResult, c.CNIVersion)
}
