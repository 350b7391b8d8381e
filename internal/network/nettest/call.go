package nettest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/spec"
)

const (
	callTimeout = 3 * time.Second // for calls of a node or the outside itself; netexec's /dial has 5 s
	// dialTimeout bounds one /dial with all its tries.
	dialTimeout = 60 * time.Second
	maxAnswer   = 64 << 10
)

// carry carries a flow out once.
func (b *bed) carry(ctx context.Context, f Flow, p Protocol) reply {
	host, port := f.to(b, p)
	if host == "" || (p != ICMP && port == 0) {
		return reply{err: errors.New("the flow has no target")}
	}
	if _, isPod := b.pods[f.from]; isPod {
		if p == ICMP {
			return b.ping(ctx, f.from, host)
		}
		return b.fromPod(ctx, f, p, host, port)
	}
	return b.fromNetns(ctx, f, p, net.JoinHostPort(host, strconv.Itoa(int(port))))
}

// fromPod makes a pod's netexec call the target: for the servers' names, and once more for the client address that they
// see.
func (b *bed) fromPod(ctx context.Context, f Flow, p Protocol, host string, port int32) reply {
	r := b.dial(ctx, f.from, question(p, host, port, hostname, f.want.requests()))
	if f.want.client == "" || r.err != nil || f.want.none {
		return r
	}
	seen := b.dial(ctx, f.from, question(p, host, port, clientIP, 1))
	if len(seen.servers) == 1 {
		r.client = hostOf(seen.servers[0])
	} else {
		r.err = seen.err
	}
	return r
}

// question returns the query for netexec's /dial.
func question(p Protocol, host string, port int32, r request, tries int) url.Values {
	protocol := "http"
	if p == UDP {
		protocol = "udp"
	}
	return url.Values{
		"host": {host}, "port": {strconv.Itoa(int(port))}, "protocol": {protocol}, "request": {string(r)},
		"tries": {strconv.Itoa(tries)},
	}
}

func (b *bed) dial(ctx context.Context, pod string, query url.Values) reply {
	var answer struct{ Responses, Errors []string }
	err := b.netexec(ctx, pod, "/dial?"+query.Encode(), &answer)
	r := reply{err: err}
	if err == nil && len(answer.Errors) > 0 {
		r.err = &podError{answer.Errors[len(answer.Errors)-1]}
	}

	for _, name := range answer.Responses {
		if query.Get("request") == string(hostname) && b.known(name) != nil {
			r.err = b.known(name)
			continue
		}
		r.servers = append(r.servers, name)
	}

	return r
}

// known returns an error unless name is one of the test's own servers: outside the machine a proxy may answer
// everything.
func (b *bed) known(name string) error {
	if _, isPod := b.pods[name]; isPod || b.node(name) != nil || name == outside {
		return nil
	}
	return fmt.Errorf("a stranger answers %.40q", name)
}

// netexec requests a path of a test pod's server, from a place that reaches the pod, and decodes the answer into v.
func (b *bed) netexec(ctx context.Context, pod, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DialContext:       dialer(b.control(pod), callTimeout),
		DisableKeepAlives: true,
	}}

	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+net.JoinHostPort(b.pods[pod].ip, strconv.Itoa(httpPort))+path, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask pod %s: %w", pod, err)
	}

	defer func() { _ = resp.Body.Close() }()

	return readAnswer(pod, resp, v)
}

// readAnswer reads what a pod's netexec says. 400 tells of a fault in words, such as a name that does not resolve.
func readAnswer(pod string, resp *http.Response, v any) error {
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusExpectationFailed {
		return json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(v)
	}

	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	said := &podError{strings.TrimSpace(string(text))}
	return fmt.Errorf("ask pod %s: %s: %w", pod, resp.Status, said)
}

// control returns the network namespace from which a pod is asked: its node's, which reaches the pod for probes. A
// transparent network is not the node's but the underlay's, so there it is the outside's.
func (b *bed) control(pod string) string {
	if b.cfg.Mode == spec.ModeTransparent && pod != podLinux {
		return b.cfg.Outside.Netns
	}
	return b.podNode(pod).Netns
}

// place returns the network namespace of a caller that is not a pod.
func (b *bed) place(from string) string {
	if n := b.node(from); n != nil {
		return n.Netns
	}
	return b.cfg.Outside.Netns
}

func dialer(path string, timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var conn net.Conn
		err := netns.Do(path, func() error {
			var err error
			conn, err = (&net.Dialer{Timeout: timeout, FallbackDelay: -1}).DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
}

// fromNetns calls from a node or from outside.
func (b *bed) fromNetns(ctx context.Context, f Flow, p Protocol, address string) reply {
	ask := askHTTP
	if p == UDP {
		ask = askUDP
	}

	dial := dialer(b.place(f.from), callTimeout)
	var r reply
	for range f.want.requests() {
		name, err := ask(ctx, dial, address, f.asks())
		if err == nil && f.asks() == hostname {
			err = b.known(name)
		}
		if err != nil {
			r.err = err
			return r
		}
		r.servers = append(r.servers, name)
	}

	if f.want.client != "" && !f.want.none {
		seen, err := ask(ctx, dial, address, clientIP)
		r.client, r.err = hostOf(seen), err
	}

	return r
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

func askHTTP(ctx context.Context, dial dialFunc, address string, r request) (string, error) {
	client := http.Client{Timeout: callTimeout, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/"+string(r), nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}

	defer func() { _ = resp.Body.Close() }()

	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if r == health && err == nil {
		return map[int]string{http.StatusOK: withPod, http.StatusServiceUnavailable: withoutPod}[resp.StatusCode], nil
	}
	return strings.TrimSpace(string(text)), err
}

func askUDP(ctx context.Context, dial dialFunc, address string, r request) (string, error) {
	conn, err := dial(ctx, "udp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()

	if err := conn.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(r)); err != nil {
		return "", err
	}
	answer := make([]byte, 1500)
	n, err := conn.Read(answer)

	return strings.TrimSpace(string(answer[:n])), err
}

// hostOf returns the address of "address:port".
func hostOf(s string) string {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().String()
	}
	return s
}

// ping runs ping.exe in a pod; the address says over which family.
func (b *bed) ping(ctx context.Context, pod, host string) reply {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	req := b.client().CoreV1().RESTClient().Post().Resource("pods").Namespace(b.namespace).Name(pod).SubResource(
		"exec").
		VersionedParams(&corev1.PodExecOptions{
			Command: []string{"ping", "-n", "1", "-w", "3000", host},
			Stdout:  true,
			Stderr:  true,
		}, kubeclient.ParameterCodec())

	exec, err := remotecommand.NewWebSocketExecutor(b.cfg.REST, http.MethodGet, req.URL().String())
	if err != nil {
		return reply{err: err}
	}

	var out bytes.Buffer
	err = exec.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &out})
	switch {
	case pinged(out.String()):
		return reply{servers: []string{host}}
	case err != nil && out.Len() == 0:
		return reply{err: err}
	}

	return reply{}
}

// pinged reports whether ping.exe printed an answer: with a time to live over IPv4, without one over IPv6.
func pinged(out string) bool {
	for line := range strings.Lines(strings.ToLower(out)) {
		if strings.HasPrefix(line, "reply from ") &&
			(strings.Contains(line, " time=") || strings.Contains(line, " time<")) {
			return true
		}
	}
	return false
}
