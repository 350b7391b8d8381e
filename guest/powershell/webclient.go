package powershell

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// webClient is a System.Net.WebClient (https://learn.microsoft.com/en-us/dotnet/api/system.net.webclient), without
// credentials and proxies.
type webClient struct {
	headers  *instance // of headersClass
	encoding *instance // of encodingClass
}

// ask makes a request and returns the answer and its body.
func (w *webClient) ask(f *frame, method, address, body string) (*http.Response, []byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, thrown("WebClient of the URL %q is not part of Mullion's PowerShell.", address)
	}
	r, err := http.NewRequestWithContext(f.in.ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, nil, raise(webException, err.Error())
	}
	r.Header.Set("User-Agent", "") // none is sent
	for _, one := range own[*pairs](w.headers).all {
		if strings.EqualFold(one.name, "host") {
			r.Host = one.value
		}
		r.Header.Add(one.name, one.value)
	}
	const most = 50 // .NET's own limit of redirections
	return fetch(f.in.ctx, r, most)
}

// fetch makes a request with at most so many redirections. The error is a WebException, also for a status of 400 or
// more.
func fetch(ctx context.Context, r *http.Request, redirections int64) (*http.Response, []byte, error) {
	client := http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, // without a proxy of the environment, as Windows
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if int64(len(via)) > redirections {
				return http.ErrUseLastResponse
			}
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
		message := fmt.Sprintf("The remote server returned an error: (%d) %s.", answer.StatusCode,
			http.StatusText(answer.StatusCode))
		return nil, nil, &exception{class: webException, message: message, status: answer.StatusCode}
	}
	return answer, body, nil
}

// webFields are what a WebException has besides the properties of other exceptions: Response is the answer, with its
// status alone, or $null.
func webFields(class string) []field {
	if class != webException {
		return nil
	}
	return []field{{name: "Response", get: func(_ *frame, v value) (value, error) {
		status := own[*record](v).status
		if status == 0 {
			return nil, nil
		}
		return newObject(custom).set("StatusCode", enum{enumOf(statusName), int64(status)}).
			set("StatusDescription", http.StatusText(status)), nil
	}}}
}

// statusName is the enumeration of HTTP's statuses.
const statusName = "Net.HttpStatusCode"

// statusType names the statuses as .NET does, NotFound for example
// (https://learn.microsoft.com/en-us/dotnet/api/system.net.httpstatuscode).
func statusType() *enumType {
	t := &enumType{name: statusName}
	spelt := strings.NewReplacer(" ", "", "-", "", "URI", "Uri", "HTTP", "Http")
	for status := http.StatusContinue; status <= http.StatusHTTPVersionNotSupported; status++ {
		if name := http.StatusText(status); name != "" {
			t.values = append(t.values, enumName{spelt.Replace(name), int64(status)})
		}
	}
	return t
}

// decode is a body as text, in the encoding that its Content-Type names, or else the client's.
func (w *webClient) decode(answer *http.Response, body []byte) string {
	if e := charsetOf(answer.Header.Get("Content-Type")); e != nil {
		return e.decode(body)
	}
	return own[*encoding](w.encoding).decode(body)
}

// upload is UploadString: an address, a method if it is not POST, and the text.
func (w *webClient) upload(c *dotCall) (value, error) {
	method, body := http.MethodPost, c.text(1)
	if len(c.args) == 3 {
		method, body = c.text(1), c.text(2)
	}
	answer, got, err := w.ask(c.f, method, c.text(0), string(own[*encoding](w.encoding).encode(body)))
	if err != nil {
		return nil, err
	}
	return w.decode(answer, got), nil
}

func webClientClass() *class {
	on := func(do func(w *webClient, c *dotCall) (value, error)) func(c *dotCall) (value, error) {
		return func(c *dotCall) (value, error) { return do(own[*webClient](c.on), c) }
	}
	get := func(c *dotCall) (*http.Response, []byte, error) {
		return own[*webClient](c.on).ask(c.f, http.MethodGet, c.text(0), "")
	}
	return &class{
		name: "System.Net.WebClient",
		make: &routine{do: func(*dotCall) (value, error) {
			return &instance{webClientClass(), &webClient{
				headers:  &instance{headersClass(), &pairs{}},
				encoding: &instance{encodingClass(), western()},
			}}, nil
		}},
		props: []field{
			{name: "Headers", get: func(_ *frame, v value) (value, error) { return own[*webClient](v).headers, nil }},
			{
				name: "Encoding",
				get:  func(_ *frame, v value) (value, error) { return own[*webClient](v).encoding, nil },
				set: func(of, v value) error {
					if own[*encoding](v) == nil {
						return cannotConvert(v, "System.Text.Encoding")
					}
					own[*webClient](of).encoding, _ = v.(*instance)
					return nil
				},
			},
		},
		methods: []routine{
			{name: "DownloadString", least: 1, most: 1, do: on(func(w *webClient, c *dotCall) (value, error) {
				answer, body, err := get(c)
				if err != nil {
					return nil, err
				}
				return w.decode(answer, body), nil
			})},
			{name: "DownloadData", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				_, body, err := get(c)
				return byteList(body), err
			}},
			{name: "DownloadFile", least: 2, most: 2, do: func(c *dotCall) (value, error) {
				_, body, err := get(c)
				if err != nil {
					return nil, err
				}
				if err := os.WriteFile(c.f.in.path(c.text(1)), body, 0o644); err != nil {
					return nil, raise(webException, "An exception occurred during a WebClient request.")
				}
				return nil, nil
			}},
			{name: "UploadString", least: 2, most: 3, do: on((*webClient).upload)},
			{name: "Dispose", do: func(*dotCall) (value, error) { return nil, nil }},
		},
	}
}
