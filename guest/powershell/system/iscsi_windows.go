package system

import (
	"context"
	"errors"
	"os"

	"github.com/Microsoft/go-winio"

	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// askForISCSI asks the host's agent. A container has no initiator, as Windows' containers have none.
func askForISCSI(ctx context.Context, request hostiscsi.Request) (hostiscsi.Answer, error) {
	dial, cancel := context.WithTimeout(ctx, diskTimeout)
	defer cancel()
	conn, err := winio.DialPipeContext(dial, hostiscsi.Pipe)
	if errors.Is(err, os.ErrNotExist) {
		return hostiscsi.Answer{}, words.Errorf("The iSCSI Initiator service is not there: sessions are the host's, and a " +
			"container gets a disk as a volume.")
	}
	if err != nil {
		return hostiscsi.Answer{}, err
	}
	defer conn.Close()
	return hostiscsi.Ask(conn, request)
}
