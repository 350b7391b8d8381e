package cluster

import (
	"context"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// Disks asks the agent of a Windows node for the host's data disks, as the machine's operator. The error is a
// *hostcall.Refusal if the agent refuses.
func Disks(ctx context.Context, paths layout.Paths, node string, request hostdisk.Request) (hostdisk.Answer, error) {
	if _, err := LoadHost(paths, node); err != nil {
		return hostdisk.Answer{}, err
	}
	call := hostdisk.Call()
	conn, err := unixsocket.Dialer(agentconfig.OperatorSocket(paths.NodeRun(node), call.Name))(ctx, "", "")
	if err != nil {
		return hostdisk.Answer{}, down(err)
	}
	defer conn.Close()
	return call.Ask(conn, request)
}
