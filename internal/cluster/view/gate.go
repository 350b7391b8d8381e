package view

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/user"
	"strconv"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/plaintext"
)

// gate is a listener that lets those in who may read, and not too many of them. The others are told in one line, and
// nothing that they send is read.
type gate struct {
	net.Listener
	access access
	log    *slog.Logger
	// ofAll and ofUser are how many connections there may be.
	ofAll, ofUser int

	mu     sync.Mutex
	all    int
	byUser map[uint32]int
	// told is when the last refusal was logged: a stranger does not fill the disk with them.
	told time.Time
}

// guest is a connection that was let in.
type guest struct {
	net.Conn
	uid  uint32
	once sync.Once
	left func()
}

// Close closes the connection, and gives its place back.
func (g *guest) Close() error {
	defer g.once.Do(g.left)
	return g.Conn.Close()
}

// Accept returns the next connection of somebody who may read and has room.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p, err := peerOf(conn)
		if err != nil {
			g.turnAway(conn, http.StatusInternalServerError, err.Error())
			continue
		}

		if !g.access.may(p) {
			g.turnAway(conn, http.StatusForbidden, fmt.Sprintf(
				"user %s is neither root, nor who ran `sudo mullion up`, nor in the group %q", nameOf(p.uid), Group))
			continue
		}
		if why := g.enter(p.uid); why != "" {
			g.turnAway(conn, http.StatusServiceUnavailable, why)
			continue
		}

		return &guest{
			Conn: conn,
			uid:  p.uid,
			left: func() { g.leave(p.uid) },
		}, nil
	}
}

// nameOf returns how a person knows a user of the machine: by the name, if the machine has one for the number.
func nameOf(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	u, err := user.LookupId(number)
	if err != nil {
		return number
	}
	return fmt.Sprintf("%s (%s)", plaintext.OneLine(u.Username), number)
}

// enter takes a place for a user, or says why there is none.
func (g *gate) enter(uid uint32) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.byUser[uid] >= g.ofUser:
		return fmt.Sprintf("user %s has %d requests under way, and no more are answered at a time", nameOf(uid), g.ofUser)
	case g.all >= g.ofAll:
		return fmt.Sprintf("%d requests are under way, and no more are answered at a time", g.ofAll)
	}
	g.all++
	g.byUser[uid]++
	return ""
}

func (g *gate) leave(uid uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.byUser[uid]--; g.byUser[uid] == 0 {
		delete(g.byUser, uid)
	}
}

// turnAway answers without reading, and closes. The few bytes fit into the socket's buffer, so nobody is waited for.
func (g *gate) turnAway(conn net.Conn, code int, why string) {
	defer conn.Close()
	if g.tells() {
		g.log.Warn("a reader of the cluster is turned away", "why", why)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // a socket has deadlines
	text := refusal{Kind: kindOf(code), Error: why}.text()
	fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		code, http.StatusText(code), len(text), text)
}

// tells reports whether it is time to log a refusal.
func (g *gate) tells() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.told) < time.Minute {
		return false
	}
	g.told = time.Now()
	return true
}

// guestKey is the key of a connection's user in the context of its requests.
type guestKey struct{}

func withGuest(ctx context.Context, conn net.Conn) context.Context {
	if g, ok := conn.(*guest); ok {
		return context.WithValue(ctx, guestKey{}, g.uid)
	}
	return ctx
}
