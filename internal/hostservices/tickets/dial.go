package tickets

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"mullion.dev/mullion/internal/spec"
)

// ownedByUs reports whether a file is root's, or that of the user whom this program runs as.
func ownedByUs(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == os.Geteuid())
}

func (k Keys) dial(ctx context.Context, to string) (net.Conn, error) {
	if k.Dial != nil {
		return k.Dial(ctx, "tcp", to)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", to)
}

// controllers returns the domain controllers that are named, else those that DNS has, in its order
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-adts/c1987d42-1847-4cc9-acf7-aab2136d6952).
func (k Keys) controllers(ctx context.Context, d spec.Domain) ([]string, error) {
	if len(d.KDCs) > 0 {
		return d.KDCs, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resolver := k.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}

	_, found, err := resolver.LookupSRV(ctx, "kerberos", "tcp", "dc._msdcs."+d.Name+".")
	if err != nil {
		return nil, fmt.Errorf("find the controllers of %s: %w", d.Name, err)
	}
	var names []string
	for _, srv := range found[:min(len(found), maxControllers)] {
		names = append(names, net.JoinHostPort(strings.TrimSuffix(srv.Target, "."), strconv.Itoa(int(srv.Port))))
	}

	return names, nil
}
