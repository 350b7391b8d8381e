package curl

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"time"
)

// transfers are the transfers of one run, one after the other, over one set of connections.
type transfers struct {
	Streams
	command
	getenv func(string) string
	client *http.Client
}

// figures are what --write-out tells of a transfer.
type figures struct {
	begin, named, connected, secured, first, end time.Time
	url                                          *url.URL
	response                                     *http.Response
	redirects                                    int
	size                                         int64
	local, remote                                string
	file                                         string
	err                                          error
}

// one makes a transfer, again if --retry says so, and returns its exit code.
func (t *transfers) one(address string, to output) int {
	wait := time.Second
	for left := t.retries; ; left-- {
		f := &figures{begin: time.Now()}
		f.err = t.attempt(address, to, f)
		f.end = time.Now()
		if left > 0 && t.again(f) {
			if t.retryDelay > 0 {
				wait = t.retryDelay
			}
			if !t.silent {
				fmt.Fprintf(t.Err, "Warning: Problem: %s. Will retry in %g seconds. %d %s left.\n", problem(f), wait.Seconds(),
					left, map[bool]string{true: "retry", false: "retries"}[left == 1])
			}

			<-time.After(wait)
			const longest = 10 * time.Minute
			wait = min(2*wait, longest)
			continue
		}

		if f.err != nil && (!t.silent || t.showError) {
			fmt.Fprintf(t.Err, "curl: %v\n", f.err)
		}
		if t.writeOut != "" {
			t.tell(f)
		}
		return code(f.err)
	}
}

func code(err error) int {
	if own, is := errors.AsType[trouble](err); is {
		return own.code
	}
	if err != nil {
		return exitReceive
	}
	return 0
}

// again reports whether a transfer may go better at another time.
func (t *transfers) again(f *figures) bool {
	if f.response != nil {
		switch f.response.StatusCode {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
	}

	switch code(f.err) {
	case 0:
		return false
	case exitTimeout, exitResolve:
		return true
	case exitConnect:
		return t.retryRefused || t.retryAll
	}

	return t.retryAll
}

func problem(f *figures) string {
	if f.err != nil && code(f.err) != exitHTTP {
		return f.err.Error()
	}
	return fmt.Sprintf("HTTP error %d", f.response.StatusCode)
}

// attempt makes a transfer once.
func (t *transfers) attempt(address string, to output, f *figures) error {
	u, err := parseURL(address)
	if err != nil {
		return err
	}

	f.url = u
	if to.remote {
		if to.file = path.Base(u.Path); to.file == "." || to.file == "/" {
			return troubled(exitWrite, "Remote file name has no length!")
		}
	}

	r, err := t.request(u)
	if err != nil {
		return err
	}
	if t.client == nil {
		if t.client, err = t.newClient(); err != nil {
			return err
		}
	}

	for {
		next, err := t.exchange(r, to, f)
		if err != nil {
			return explain(err, f.url, time.Since(f.begin), f.size)
		}
		if next == nil {
			return nil
		}

		if f.redirects++; t.redirects >= 0 && f.redirects > t.redirects {
			f.redirects--
			return troubled(exitRedirects, "Maximum (%d) redirects followed", t.redirects)
		}
		r, f.url = next, next.URL
	}
}

// exchange makes one request and takes its response. The result is the request for where the response leads, if it is
// followed.
func (t *transfers) exchange(r *http.Request, to output, f *figures) (*http.Request, error) {
	if t.most > 0 {
		left := t.most - time.Since(f.begin)
		if left <= 0 {
			return nil, os.ErrDeadlineExceeded
		}
		t.client.Timeout = left
	}

	r = r.WithContext(httptrace.WithClientTrace(r.Context(), t.trace(r, f)))
	response, err := t.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	f.response = response
	if t.verbose {
		t.sayHead("< ", response)
	}

	var next *http.Request
	if t.location {
		if next, err = t.follow(r, response); err != nil {
			return nil, err
		}
	}
	if t.fail && response.StatusCode >= http.StatusBadRequest {
		return nil, troubled(exitHTTP, "The requested URL returned error: %d", response.StatusCode)
	}

	if err := t.take(response, to, f, next != nil); err != nil {
		return nil, err
	}
	if t.failBody && response.StatusCode >= http.StatusBadRequest {
		return nil, troubled(exitHTTP, "The requested URL returned error: %d", response.StatusCode)
	}
	return next, nil
}

// take writes a response where it goes. Of one that is not the last only the head is written, if at all.
func (t *transfers) take(response *http.Response, to output, f *figures, more bool) (err error) {
	out := t.Out
	if to.file != "" && to.file != "-" {
		file, err := t.open(to.file, f)
		if err != nil {
			return err
		}
		defer func() {
			if e := file.Close(); e != nil && err == nil {
				err = troubled(exitWrite, "Failure writing output to destination")
			}
		}()

		out = file
	}

	if t.include || t.head {
		for _, line := range head(response) {
			if _, err := fmt.Fprint(out, line+"\r\n"); err != nil {
				return troubled(exitWrite, "Failure writing output to destination")
			}
		}
	}

	if more {
		_, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)) // so that the connection can be used again
		return err
	}
	body, err := t.decoded(response)
	if err != nil {
		return err
	}

	w := &sink{out: out}
	_, err = io.Copy(w, body)
	f.size += w.size
	if w.failed {
		return troubled(exitWrite, "Failure writing output to destination")
	}

	return err
}

// open opens the file that a response goes to.
func (t *transfers) open(name string, f *figures) (*os.File, error) {
	if t.createDirs {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return nil, troubled(exitWrite, "Failed to create the folder of %s", name)
		}
	}
	how := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if f.file != "" { // the heads of earlier responses are in it
		how = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}

	file, err := os.OpenFile(name, how, 0o666)
	if err != nil {
		return nil, troubled(exitWrite, "Failed to open the file %s: %v", name, errors.Unwrap(err))
	}
	f.file = name
	return file, nil
}

// sink counts what is written, and knows whether it was the writing that failed.
type sink struct {
	out    io.Writer
	size   int64
	failed bool
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.out.Write(p)
	s.size += int64(n)
	s.failed = s.failed || err != nil
	return n, err
}

// decoded returns the body without the compression that --compressed asked for.
func (t *transfers) decoded(response *http.Response) (io.Reader, error) {
	if !t.compressed || t.head {
		return response.Body, nil
	}

	switch response.Header.Get("Content-Encoding") {
	case "gzip":
		z, err := gzip.NewReader(response.Body)
		if err != nil {
			return nil, troubled(61, "Unrecognized or bad HTTP Content or Transfer-Encoding")
		}
		return z, nil
	case "deflate":
		return flate.NewReader(response.Body), nil
	}

	return response.Body, nil
}
