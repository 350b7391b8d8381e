package cri

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/cri-streaming/pkg/streaming"
)

// streamRuntime is what the streaming server calls: the methods are beside the RPCs that they belong to.
type streamRuntime struct{ s *Server }

// newStreamServer makes the streaming server for the listener of the configuration. Its URLs carry tokens that can be
// used once: reaching the port is not enough to use it.
func (s *Server) newStreamServer() (streaming.Server, error) {
	config := streaming.DefaultConfig
	config.Addr = s.cfg.Stream.Addr().String()
	config.BaseURL = &url.URL{
		Scheme: "http",
		Host:   config.Addr,
		Path:   "/",
	}
	server, err := streaming.NewServer(config, streamRuntime{s})
	if err != nil {
		return nil, fmt.Errorf("make streaming server: %w", err)
	}
	return server, nil
}

func (s *Server) serveStreams() error {
	server := &http.Server{Handler: s.streams}
	if err := server.Serve(s.cfg.Stream); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve streams: %w", err)
	}
	return nil
}
