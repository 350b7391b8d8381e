package curl

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// maxRedirects is how many redirects curl follows if it is not told.
const maxRedirects = 50

// parseURL reads an address as curl does: without a scheme it is of http.
func parseURL(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, troubled(exitURL, "URL using bad/illegal format or missing URL")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, troubled(exitProtocol, "Protocol %q not supported or disabled in libcurl", u.Scheme)
	}
	return u, nil
}

// request returns the first request for an address.
func (c *command) request(u *url.URL) (*http.Request, error) {
	body, kind, err := c.content()
	if err != nil {
		return nil, err
	}

	method := http.MethodGet
	switch {
	case c.head:
		method = http.MethodHead
	case c.upload != "":
		method = http.MethodPut
		if strings.HasSuffix(u.Path, "/") || u.Path == "" {
			u.Path += "/"
			u = u.JoinPath(filepath.Base(c.upload))
		}

	case c.get && c.hasBody:
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery, body, kind = u.RawQuery+string(c.body), nil, ""
	case body != nil:
		method = http.MethodPost
	}
	if c.method != "" {
		method = c.method
	}

	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	r, err := http.NewRequest(method, u.String(), content)
	if err != nil {
		return nil, troubled(exitURL, "URL using bad/illegal format or missing URL")
	}
	c.decorate(r, kind)
	return r, nil
}

// content returns the body of a request and its type; nil if it has none.
func (c *command) content() (body []byte, kind string, err error) {
	switch {
	case c.upload == "-":
		return nil, "", troubled(exitRead, "Uploads from standard input are not supported")
	case c.upload != "":
		body, err = os.ReadFile(c.upload)
		if err != nil {
			return nil, "", troubled(exitRead, "Can't open '%s'!", c.upload)
		}
		return body, "", nil

	case len(c.form) > 0:
		return c.multipart()
	case !c.hasBody:
		return nil, "", nil
	}

	kind = "application/x-www-form-urlencoded"
	if c.bodyType != "" {
		kind = c.bodyType
	}
	return append([]byte{}, c.body...), kind, nil
}

// multipart returns the body that -F describes: name=text, name=@file or name=<file, each with ;type=.
func (c *command) multipart() ([]byte, string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, field := range c.form {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return nil, "", troubled(exitUsage, "Illegally formatted input field!")
		}

		value, kind, _ := strings.Cut(value, ";type=")
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf("form-data; name=%q", name)
		text := []byte(value)
		if file, is := strings.CutPrefix(value, "@"); is {
			disposition += fmt.Sprintf("; filename=%q", filepath.Base(file))
			if kind == "" {
				kind = "application/octet-stream"
			}
			value = "<" + file
		}

		if file, is := strings.CutPrefix(value, "<"); is {
			var err error
			if text, err = os.ReadFile(file); err != nil {
				return nil, "", troubled(exitRead, "Failed to open/read local data from file/application")
			}
		}

		h.Set("Content-Disposition", disposition)
		if kind != "" {
			h.Set("Content-Type", kind)
		}
		part, err := w.CreatePart(h)
		if err != nil {
			return nil, "", err
		}

		if _, err := part.Write(text); err != nil {
			return nil, "", err
		}
	}

	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// decorate sets a request's headers. A header "Name:" takes one away, "Name;" sends it empty.
func (c *command) decorate(r *http.Request, kind string) {
	set := func(name, value string) {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	set("User-Agent", "curl/"+version)
	set("Accept", "*/*")
	if c.bodyType != "" {
		set("Accept", c.bodyType)
	}

	set("Content-Type", kind)
	set("User-Agent", c.agent)
	set("Referer", c.referer)
	set("Cookie", c.cookie)
	if c.compressed {
		set("Accept-Encoding", "deflate, gzip")
	}

	if user, password, _ := strings.Cut(c.user, ":"); c.user != "" {
		r.SetBasicAuth(user, password)
	} else if r.URL.User != nil {
		password, _ := r.URL.User.Password()
		r.SetBasicAuth(r.URL.User.Username(), password)
	}

	for _, line := range c.headers {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch bare, empty := strings.CutSuffix(name, ";"); {
		case !ok && empty:
			r.Header[http.CanonicalHeaderKey(bare)] = []string{""}
		case !ok:
		case strings.EqualFold(name, "Host"):
			r.Host = value
		case value == "":
			// Go sends its own name where this one is not there.
			r.Header[http.CanonicalHeaderKey(name)] = nil

		default:
			r.Header.Del(name)
			r.Header.Add(name, value)
		}
	}
}

// becomesGet reports whether a request is repeated as GET, without its body, after a redirection.
func becomesGet(code int, method string) bool {
	return (code == http.StatusSeeOther && method != http.MethodHead) ||
		((code == http.StatusMovedPermanently || code == http.StatusFound) && method == http.MethodPost)
}

// follow returns the request for where a response leads, or nil if it leads nowhere.
func (c *command) follow(r *http.Request, response *http.Response) (*http.Request, error) {
	to := response.Header.Get("Location")
	if response.StatusCode < 300 || response.StatusCode > 399 || to == "" {
		return nil, nil
	}
	u, err := r.URL.Parse(to)
	if err != nil {
		return nil, troubled(exitURL, "URL using bad/illegal format or missing URL")
	}

	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, troubled(exitProtocol, "Protocol %q not supported or disabled in libcurl", u.Scheme)
	}
	method, getBody := r.Method, r.GetBody
	if c.method == "" && becomesGet(response.StatusCode, method) {
		method, getBody = http.MethodGet, nil
	}

	var body io.Reader
	if getBody != nil {
		if body, err = getBody(); err != nil {
			return nil, err
		}
	}

	next, err := http.NewRequest(method, u.String(), body)
	if err != nil {
		return nil, troubled(exitURL, "URL using bad/illegal format or missing URL")
	}

	next.Header = r.Header.Clone()
	next.ContentLength, next.GetBody = r.ContentLength, getBody
	if getBody == nil {
		next.ContentLength = 0
		next.Header.Del("Content-Type")
	}

	if u.Host != r.URL.Host { // what is meant for one server is not told to another
		next.Header.Del("Authorization")
		next.Header.Del("Cookie")
	} else {
		next.Host = r.Host
	}

	return next, nil
}
