package cluster

import (
	"context"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// Disks asks the agent of a Windows node for the host's data disks, as the machine's operator.
func Disks(ctx context.Context, paths layout.Paths, node string, request hostdisk.Request) (hostdisk.Answer, error) {
	if _, err := LoadHost(paths, node); err != nil {
		return hostdisk.Answer{}, err
	}
	conn, err := unixsocket.Dialer(agentconfig.OperatorSocket(paths.NodeRun(node)))(ctx, "", "")
	if err != nil {
		return hostdisk.Answer{}, down(err)
	}
	defer conn.Close()
	return hostdisk.Ask(conn, request)
}
