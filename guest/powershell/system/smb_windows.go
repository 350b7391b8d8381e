package system

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/Microsoft/go-winio"

	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

// smbTimeout bounds how long a host's agent has to take a request.
const smbTimeout = 30 * time.Second

// askForSMB asks the host's agent. A container has none, as Windows' containers have no global mappings of their own.
func askForSMB(ctx context.Context, request smbmapping.Request) (smbmapping.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, smbTimeout)
	defer cancel()
	conn, err := winio.DialPipeContext(ctx, smbmapping.Pipe)
	if errors.Is(err, os.ErrNotExist) {
		return smbmapping.Answer{}, words.Errorf("The specified service does not exist as an installed service: shares are " +
			"mapped on the host, and a container gets one as a volume.")
	}
	if err != nil {
		return smbmapping.Answer{}, err
	}
	defer conn.Close()
	return smbmapping.Ask(conn, request)
}
