//go:build wine

package programs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// eventually asks until the answer is right. A server that has ended answers no more.
func (b bench) eventually(ctx context.Context, a Ask, ended <-chan struct{}) error {
	for {
		answer, err := b.ask(ctx, a)
		if err == nil {
			if err = b.match(a.Want, answer); err == nil {
				return nil
			}
		}

		select {
		case <-ended:
			return fmt.Errorf("wait for an answer: the server has ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("wait for an answer: %w: %w", ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (b bench) ask(ctx context.Context, a Ask) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	switch {
	case a.URL != "":
		return b.askHTTP(ctx, a)
	case a.TCP != "":
		return b.askTCP(ctx, a)
	case a.DNS != "":
		return b.askDNS(ctx, a)
	}
	out, err := b.command(ctx, nil, a.Run).CombinedOutput()
	return strings.ReplaceAll(string(out), "\r\n", "\n"), err
}

// askHTTP asks for a URL. The answer is its status, and its body until that matches or ends: a stream of events has no
// end.
func (b bench) askHTTP(ctx context.Context, a Ask) (string, error) {
	method := a.Method
	if method == "" {
		method = http.MethodGet
		if a.Body != "" {
			method = http.MethodPost
		}
	}

	body := strings.NewReader(b.words.Replace(a.Body))
	request, err := http.NewRequestWithContext(ctx, method, b.words.Replace(a.URL), body)
	if err != nil {
		return "", err
	}
	for name, value := range a.Headers {
		request.Header.Set(name, value)
	}

	// What is tried is the server's TLS. Its certificate is one that no one else has signed.
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // see above
		DisableKeepAlives: true,
	}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}

	defer response.Body.Close()
	return b.read(response.Body, response.Status+"\n", a.Want)
}

// askTCP sends a text and reads the answer.
func (b bench) askTCP(ctx context.Context, a Ask) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", b.words.Replace(a.TCP))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}

	if _, err := io.WriteString(conn, b.words.Replace(a.Send)); err != nil {
		return "", err
	}
	return b.read(conn, "", a.Want)
}

// read reads an answer to its end, or until it and what came before match.
func (b bench) read(from io.Reader, answer, want string) (string, error) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		answer += string(buffer[:n])
		if errors.Is(err, io.EOF) || b.match(want, answer) == nil {
			return answer, nil
		}
		if err != nil {
			return "", fmt.Errorf("read on after %q: %w", tail(answer), err)
		}
	}
}

// askDNS asks a server for the addresses of a name.
func (b bench) askDNS(ctx context.Context, a Ask) (string, error) {
	resolver := net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, b.words.Replace(a.DNS))
		},
	}
	addresses, err := resolver.LookupHost(ctx, a.Name)
	return strings.Join(addresses, "\n"), err
}
