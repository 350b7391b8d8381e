package dotnet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/stream"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// webClient is a System.Net.WebClient (https://learn.microsoft.com/en-us/dotnet/api/system.net.webclient), without
// credentials and proxies.
type webClient struct {
	headers  *object.Instance // of HeadersClass
	encoding *object.Instance // of encodingClass
}

// ask makes a request and returns the answer and its body.
func (w *webClient) ask(s *session.State, method, address, body string) (*http.Response, []byte, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, nil, object.Thrown("WebClient of the URL %q is not part of Mullion's PowerShell.", address)
	}

	r, err := http.NewRequestWithContext(s.Context, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, nil, object.Raise(object.WebException, err.Error())
	}

	r.Header.Set("User-Agent", "") // none is sent
	for _, one := range object.Own[*library.Pairs](w.headers).All {
		if strings.EqualFold(one.Name, "host") {
			r.Host = one.Value
		}
		r.Header.Add(one.Name, one.Value)
	}

	const most = 50 // .NET's own limit of redirections
	return Fetch(s.Context, s, r, most)
}

// Fetch makes a request with at most so many redirections. The error is a WebException, also for a status of 400 or
// more.
func Fetch(
	ctx context.Context, s *session.State, r *http.Request, redirections int64,
) (*http.Response, []byte, error) {
	asked := &asked{host: r.URL.Hostname()}
	defer asked.end()
	client := http.Client{
		Transport: &http.Transport{ // without a proxy of the environment, as Windows
			DisableKeepAlives: true,
			TLSClientConfig:   asked.trust(s),
		},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if int64(len(via)) > redirections {
				return http.ErrUseLastResponse
			}
			asked.goesTo(to.URL.Hostname())
			return nil
		},
	}

	answer, err := client.Do(r)
	if err != nil {
		return nil, nil, webError(ctx, err, r.URL)
	}
	defer answer.Body.Close()

	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, nil, webError(ctx, err, r.URL)
	}

	if answer.StatusCode >= http.StatusBadRequest {
		message := fmt.Sprintf("The remote server returned an error: (%d) %s.",
			answer.StatusCode, http.StatusText(answer.StatusCode))
		return nil, nil, &object.Exception{
			Class:   object.WebException,
			Message: message,
			Response: &object.Instance{
				Of: webResponseClass(),
				V:  &webResponse{answer.StatusCode, answer.Header.Get("Content-Type"), body},
			},
		}
	}

	return answer, body, nil
}

// webResponse is the System.Net.HttpWebResponse of a refusal.
type webResponse struct {
	status int
	kind   string // of the body, as Content-Type has it
	body   []byte
}

// refusalTags are those that a cmdlet leaves out of what it says of a refusal.
var refusalTags = lazyregexp.New("<[^>]*>")

// Refusal returns what the server says in an error of Fetch, without tags, as Windows' cmdlets have it in ErrorDetails.
func Refusal(e *object.Exception) string {
	r := object.Own[*webResponse](e.Response)
	if r == nil {
		return ""
	}
	text := string(r.body)
	if encoding := stream.CharsetOf(r.kind); encoding != nil {
		text = encoding.Decode(r.body)
	}
	return refusalTags.ReplaceAllString(text, "")
}

func webResponseClass() *object.Class {
	of := func(name string, get func(r *webResponse) object.Value) object.Field {
		return object.Field{
			Name: name,
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return get(object.Own[*webResponse](v)), nil
			},
		}
	}
	nothing := func(*object.Call) (object.Value, error) { return nil, nil }
	return &object.Class{
		Name: "System.Net.HttpWebResponse",
		Props: []object.Field{
			of("StatusCode", func(r *webResponse) object.Value {
				return object.Enum{Of: object.EnumOf(object.StatusName), N: int64(r.status)}
			}),
			of("StatusDescription", func(r *webResponse) object.Value { return http.StatusText(r.status) }),
			of("ContentType", func(r *webResponse) object.Value { return r.kind }),
			of("ContentLength", func(r *webResponse) object.Value { return int64(len(r.body)) }),
		},
		Methods: []object.Method{
			{Name: "GetResponseStream", Do: func(c *object.Call) (object.Value, error) {
				body := bytes.NewReader(object.Own[*webResponse](c.On).body)
				return &object.Instance{Of: stream.Class(), V: &stream.Stream{R: body}}, nil
			}},
			{Name: "Close", Do: nothing},
			{Name: "Dispose", Do: nothing},
		},
	}
}

// decode returns a body as text, in the encoding that its Content-Type names, or else the client's.
func (w *webClient) decode(answer *http.Response, body []byte) string {
	if e := stream.CharsetOf(answer.Header.Get("Content-Type")); e != nil {
		return e.Decode(body)
	}
	return object.Own[*stream.Encoding](w.encoding).Decode(body)
}

// upload carries out UploadString: an address, a method if it is not POST, and the text.
func (w *webClient) upload(c *object.Call) (object.Value, error) {
	method, body := http.MethodPost, c.Text(1)
	if len(c.Args) == 3 {
		method, body = c.Text(1), c.Text(2)
	}
	answer, got, err := w.ask(c.State, method, c.Text(0), string(object.Own[*stream.Encoding](w.encoding).Encode(body)))
	if err != nil {
		return nil, err
	}
	return w.decode(answer, got), nil
}

func webClientClass() *object.Class {
	on := func(do func(w *webClient, c *object.Call) (object.Value, error)) func(c *object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) { return do(object.Own[*webClient](c.On), c) }
	}

	get := func(c *object.Call) (*http.Response, []byte, error) {
		return object.Own[*webClient](c.On).ask(c.State, http.MethodGet, c.Text(0), "")
	}

	return &object.Class{
		Name: "System.Net.WebClient",
		Make: &object.Method{Do: func(*object.Call) (object.Value, error) {
			return &object.Instance{
				Of: webClientClass(),
				V: &webClient{
					headers:  &object.Instance{Of: library.HeadersClass(), V: &library.Pairs{}},
					encoding: &object.Instance{Of: stream.EncodingClass(), V: stream.Western()},
				},
			}, nil
		}},
		Props: []object.Field{
			{
				Name: "Headers",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					return object.Own[*webClient](v).headers, nil
				},
			},
			{
				Name: "Encoding",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					return object.Own[*webClient](v).encoding, nil
				},
				Set: func(of, v object.Value) error {
					if object.Own[*stream.Encoding](v) == nil {
						return object.CannotConvert(v, "System.Text.Encoding")
					}
					object.Own[*webClient](of).encoding, _ = v.(*object.Instance)
					return nil
				},
			},
		},
		Methods: []object.Method{
			{
				Name:  "DownloadString",
				Least: 1,
				Most:  1,
				Do: on(func(w *webClient, c *object.Call) (object.Value, error) {
					answer, body, err := get(c)
					if err != nil {
						return nil, err
					}
					return w.decode(answer, body), nil
				}),
			},
			{
				Name:  "DownloadData",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					_, body, err := get(c)
					return object.ByteList(body), err
				},
			},
			{
				Name:  "DownloadFile",
				Least: 2,
				Most:  2,
				Do: func(c *object.Call) (object.Value, error) {
					_, body, err := get(c)
					if err != nil {
						return nil, err
					}
					if err := os.WriteFile(c.State.Path(c.Text(1)), body, 0o644); err != nil {
						return nil, object.Raise(object.WebException,
							"An exception occurred during a WebClient request.")
					}

					return nil, nil
				},
			},
			{Name: "UploadString", Least: 2, Most: 3, Do: on((*webClient).upload)},
			{Name: "Dispose", Do: func(*object.Call) (object.Value, error) { return nil, nil }},
		},
	}
}
