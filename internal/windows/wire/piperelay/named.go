package piperelay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// User is who a connection to a pipe of the host is made for.
type User string

// The users of Windows containers
// (https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security).
const (
	Administrator User = "ContainerAdministrator" // is in the group Administrators
	Unprivileged  User = "ContainerUser"
)

// A request is a line: user, space, name of the pipe.
const (
	maxRequest     = 512 // a pipe's name has at most 256 characters
	requestTimeout = 10 * time.Second
)

// Ask says on a new connection to a relay to Named for whom and to which pipe it is.
func Ask(conn net.Conn, user User, pipe string) error {
	if err := CheckName(pipe); err != nil {
		return err
	}
	_, err := fmt.Fprintf(conn, "%s %s\n", user, pipe)
	return err
}

// CheckName returns an error if a text is not the name of a pipe, as programs can pass it on.
func CheckName(pipe string) error {
	odd := func(r rune) bool { return r < ' ' || r == '"' }
	if !IsPipe(pipe) || len(pipe) > maxRequest/2 || strings.HasSuffix(pipe, `\`) || strings.ContainsFunc(pipe, odd) {
		return fmt.Errorf("%.60q is no name of a pipe", pipe)
	}
	return nil
}

// hear reads what Ask has said, and no byte beyond it.
func hear(conn net.Conn) (User, string, error) {
	if err := conn.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return "", "", err
	}

	var line strings.Builder
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(conn, b); err != nil {
			return "", "", err
		}
		if b[0] == '\n' {
			break
		}
		if line.WriteByte(b[0]); line.Len() > maxRequest {
			return "", "", errors.New("the request does not end")
		}
	}

	user, pipe, _ := strings.Cut(line.String(), " ")
	if User(user) != Administrator && User(user) != Unprivileged {
		return "", "", fmt.Errorf("%.60q is no user", user)
	}
	return User(user), pipe, errors.Join(CheckName(pipe), conn.SetReadDeadline(time.Time{}))
}
