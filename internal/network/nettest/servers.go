package nettest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/netns"
)

// server answers as netexec does, on portOfNode, in the network namespace of a node or of the outside.
type server struct {
	http    *http.Server
	packets []net.PacketConn
	done    sync.WaitGroup
}

// serve starts a server that calls itself name, on addresses of the namespace: one socket each, so that answers to
// packets leave from the address that was asked.
func serve(ctx context.Context, path, name string, addresses []netip.Addr) (*server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/hostname", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(name)) })
	mux.HandleFunc("/clientip", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.RemoteAddr)) })
	s := &server{http: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	for _, a := range addresses {
		if err := s.listen(ctx, path, name, netip.AddrPortFrom(a, portOfNode).String()); err != nil {
			return nil, errors.Join(fmt.Errorf("answer at %s: %w", name, err), s.close())
		}
	}
	return s, nil
}

func (s *server) listen(ctx context.Context, path, name, address string) error {
	var l net.Listener
	var packets net.PacketConn
	err := netns.Do(path, func() error {
		var err error
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
			return err
		}
		if packets, err = (&net.ListenConfig{}).ListenPacket(ctx, "udp", address); err != nil {
			return errors.Join(err, l.Close())
		}
		return nil
	})
	if err != nil {
		return err
	}

	s.packets = append(s.packets, packets)
	s.done.Go(func() { _ = s.http.Serve(l) })
	s.done.Go(func() { answerPackets(packets, name) })
	return nil
}

func answerPackets(packets net.PacketConn, name string) {
	b := make([]byte, 1500)
	for {
		n, from, err := packets.ReadFrom(b)
		if err != nil {
			return
		}
		answer := name
		if string(b[:n]) == "clientip" {
			answer = from.String()
		}
		_, _ = packets.WriteTo([]byte(answer), from)
	}
}

// close ends the server.
func (s *server) close() error {
	errs := []error{s.http.Close()}
	for _, p := range s.packets {
		errs = append(errs, p.Close())
	}
	s.done.Wait()
	return errors.Join(errs...)
}
