package curl

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// command is what the arguments ask for.
type command struct {
	help, version                                       bool
	urls                                                []string
	outputs                                             []output
	method                                              string
	headers                                             []string
	hasBody, get, head                                  bool
	body                                                []byte
	bodyType                                            string
	form                                                []string
	upload                                              string
	include, verbose, silent, showError, fail, failBody bool
	location, insecure, compressed, createDirs          bool
	redirects                                           int
	authority, certificate, key                         string
	user, agent, referer, cookie                        string
	most, connect, retryDelay                           time.Duration
	retries                                             int
	retryRefused, retryAll                              bool
	resolve                                             []string
	proxy, noProxy, socket                              string
	family                                              string
	writeOut                                            string
}

// output says where a response's body goes: a file, or one named as the URL's path ends, or standard output.
type output struct {
	file   string
	remote bool
}

// option is one option: its letter (0 if it has none), its long names, what its value is ("" if it has none), a line of
// help, and what it does.
type option struct {
	letter rune
	names  []string
	value  string
	what   string
	do     func(c *command, value string) error
}

func flag(letter rune, name, what string, set ...func(*command) *bool) option {
	return option{letter, []string{name}, "", what, func(c *command, _ string) error {
		for _, s := range set {
			*s(c) = true
		}
		return nil
	}}
}

func text(letter rune, name, value, what string, set func(*command) *string) option {
	return option{letter, []string{name}, value, what, func(c *command, v string) error {
		*set(c) = v
		return nil
	}}
}

func list(letter rune, name, value, what string, set func(*command) *[]string) option {
	return option{letter, []string{name}, value, what, func(c *command, v string) error {
		*set(c) = append(*set(c), v)
		return nil
	}}
}

func seconds(letter rune, name, what string, set func(*command) *time.Duration) option {
	return option{letter, []string{name}, "seconds", what, func(c *command, v string) error {
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || n < 0 || n > 1e9 {
			return fmt.Errorf("option --%s: expected a proper numerical parameter", name)
		}
		*set(c) = time.Duration(n * float64(time.Second))
		return nil
	}}
}

func number(name, what string, set func(*command) *int) option {
	return option{0, []string{name}, "num", what, func(c *command, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("option --%s: expected a proper numerical parameter", name)
		}
		*set(c) = n
		return nil
	}}
}

// none returns an option that changes nothing here.
func none(letter rune, name, what string) option { return flag(letter, name, what) }

func options() []option {
	return append(append(requestOptions(), outputOptions()...), connectionOptions()...)
}

func outputOptions() []option {
	return []option{
		{'o', []string{"output"}, "file", "Write to file instead of stdout", func(c *command, v string) error {
			c.outputs = append(c.outputs, output{file: v})
			return nil
		}},
		{'O', []string{"remote-name"}, "", "Write output to a file named as the remote file", func(c *command, _ string) error {
			c.outputs = append(c.outputs, output{remote: true})
			return nil
		}},
		flag(0, "create-dirs", "Create necessary local directory hierarchy", func(c *command) *bool { return &c.createDirs }),
		flag('f', "fail", "Fail fast with no output on HTTP errors", func(c *command) *bool { return &c.fail }),
		flag(0, "fail-with-body", "Fail on HTTP errors but save the body", func(c *command) *bool { return &c.failBody }),
		flag('h', "help", "Get help for commands", func(c *command) *bool { return &c.help }),
		flag('i', "include", "Include protocol response headers in the output", func(c *command) *bool { return &c.include }),
		none('N', "no-buffer", "Disable buffering of the output stream"),
		none('#', "progress-bar", "Display transfer progress as a bar (there is none here)"),
		flag('s', "silent", "Silent mode", func(c *command) *bool { return &c.silent }),
		flag('S', "show-error", "Show error even when -s is used", func(c *command) *bool { return &c.showError }),
		flag('v', "verbose", "Make the operation more talkative", func(c *command) *bool { return &c.verbose }),
		flag('V', "version", "Show version number and quit", func(c *command) *bool { return &c.version }),
		text('w', "write-out", "format", "Use output FORMAT after completion", func(c *command) *string { return &c.writeOut }),
	}
}

func connectionOptions() []option {
	family := func(letter rune, name, network, what string) option {
		return option{letter, []string{name}, "", what, func(c *command, _ string) error {
			c.family = network
			return nil
		}}
	}

	return []option{
		text(0, "cacert", "file", "CA certificate to verify peer against", func(c *command) *string { return &c.authority }),
		text('E', "cert", "certificate", "Client certificate file (PEM)", func(c *command) *string { return &c.certificate }),
		text(0, "key", "key", "Private key file (PEM)", func(c *command) *string { return &c.key }),
		seconds(0, "connect-timeout", "Maximum time allowed for connection", func(c *command) *time.Duration { return &c.connect }),
		none(0, "http1.1", "Use HTTP 1.1"), none('0', "http1.0", "Use HTTP 1.0 (1.1 here)"),
		flag('k', "insecure", "Allow insecure server connections", func(c *command) *bool { return &c.insecure }),
		family('4', "ipv4", "tcp4", "Resolve names to IPv4 addresses"),
		family('6', "ipv6", "tcp6", "Resolve names to IPv6 addresses"),
		seconds('m', "max-time", "Maximum time allowed for transfer", func(c *command) *time.Duration { return &c.most }),
		text(0, "noproxy", "no-proxy-list", "List of hosts which do not use proxy", func(c *command) *string { return &c.noProxy }),
		text('x', "proxy", "[protocol://]host[:port]", "Use this proxy", func(c *command) *string { return &c.proxy }),
		list(0, "resolve", "host:port:addr", "Resolve the host+port to this address", func(c *command) *[]string { return &c.resolve }),
		number("retry", "Retry request if transient problems occur", func(c *command) *int { return &c.retries }),
		flag(0, "retry-all-errors", "Retry all errors (use with --retry)", func(c *command) *bool { return &c.retryAll }),
		flag(0, "retry-connrefused", "Retry on connection refused (use with --retry)", func(c *command) *bool { return &c.retryRefused }),
		seconds(0, "retry-delay", "Wait time between retries", func(c *command) *time.Duration { return &c.retryDelay }),
		none(0, "ssl-no-revoke", "Disable cert revocation checks (there are none here)"),
		none(0, "tlsv1.2", "Use TLSv1.2 or greater"),
		text(0, "unix-socket", "path", "Connect through this Unix domain socket", func(c *command) *string { return &c.socket }),
	}
}

func requestOptions() []option {
	return []option{
		flag(0, "compressed", "Request compressed response", func(c *command) *bool { return &c.compressed }),
		text('b', "cookie", "data", "Send cookies from string", func(c *command) *string { return &c.cookie }),
		data('d', []string{"data", "data-ascii"}, "HTTP POST data", trimmed),
		data(0, []string{"data-binary"}, "HTTP POST binary data", whole),
		data(0, []string{"data-raw"}, "HTTP POST data, '@' allowed", nil),
		data(0, []string{"data-urlencode"}, "HTTP POST data URL encoded", nil),
		list('F', "form", "name=content", "Specify multipart MIME data", func(c *command) *[]string { return &c.form }),
		flag('G', "get", "Put the post data in the URL and use GET", func(c *command) *bool { return &c.get }),
		none('g', "globoff", "Disable URL sequences and ranges using {} and [] (there are none here)"),
		flag('I', "head", "Show document info only", func(c *command) *bool { return &c.head }),
		list('H', "header", "header", "Pass custom header to server", func(c *command) *[]string { return &c.headers }),
		data(0, []string{"json"}, "HTTP POST JSON", whole),
		flag('L', "location", "Follow redirects", func(c *command) *bool { return &c.location }),
		number("max-redirs", "Maximum number of redirects allowed", func(c *command) *int { return &c.redirects }),
		text('e', "referer", "URL", "Referrer URL", func(c *command) *string { return &c.referer }),
		text('X', "request", "method", "Specify request method to use", func(c *command) *string { return &c.method }),
		text('T', "upload-file", "file", "Transfer local FILE to destination", func(c *command) *string { return &c.upload }),
		list(0, "url", "url", "URL to work with", func(c *command) *[]string { return &c.urls }),
		text('u', "user", "user:password", "Server user and password", func(c *command) *string { return &c.user }),
		text('A', "user-agent", "name", "Send User-Agent <name> to server", func(c *command) *string { return &c.agent }),
	}
}

// How a file that follows @ goes into the body: without ends of lines, or as it is.
func trimmed(file []byte) []byte {
	return []byte(strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(string(file)))
}

func whole(file []byte) []byte { return file }

// data returns an option whose values make up the body, with & between them. file is nil if @ means itself.
func data(letter rune, names []string, what string, file func([]byte) []byte) option {
	return option{letter, names, "data", what, func(c *command, v string) error {
		part := []byte(v)
		join := "&"
		switch names[0] {
		case "data-urlencode":
			part = encoded(v)
		case "json":
			c.bodyType, join = "application/json", ""
		}

		if name, is := strings.CutPrefix(v, "@"); is && file != nil {
			content, err := readFile(name)
			if err != nil {
				return err
			}
			part = file(content)
		}

		if c.hasBody {
			c.body = append(c.body, join...)
		}
		c.body, c.hasBody = append(c.body, part...), true
		return nil
	}}
}

// encoded returns a value of --data-urlencode: content, or name=content.
func encoded(v string) []byte {
	name, content, named := strings.Cut(v, "=")
	switch {
	case !named:
		return []byte(escape(v))
	case name == "":
		return []byte(escape(content))
	}
	return []byte(name + "=" + escape(content))
}

func escape(v string) string { return strings.ReplaceAll(url.QueryEscape(v), "+", "%20") }

func readFile(name string) ([]byte, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("option -d: error encountered when reading a file: %s", name)
	}
	return content, nil
}

// parse reads the arguments. in is what @- names.
func parse(in io.Reader, args []string) (command, error) {
	c := command{redirects: maxRedirects}
	for len(args) > 0 {
		arg, rest := args[0], args[1:]
		var err error
		switch {
		case arg == "--":
			c.urls, rest = append(c.urls, rest...), nil
		case strings.HasPrefix(arg, "--"):
			rest, err = c.long(in, arg[2:], rest)
		case len(arg) > 1 && arg[0] == '-':
			rest, err = c.letters(in, arg[1:], rest)
		default:
			c.urls = append(c.urls, arg)
		}
		if err != nil {
			return c, err
		}

		args = rest
	}

	return c, nil
}

func (c *command) long(in io.Reader, name string, rest []string) ([]string, error) {
	for _, o := range options() {
		if slices.Contains(o.names, name) {
			return c.take(in, o, "--"+name, "", rest)
		}
	}
	return nil, fmt.Errorf("option --%s: is unknown", name)
}

func (c *command) letters(in io.Reader, letters string, rest []string) ([]string, error) {
	for i, letter := range letters {
		found := false
		for _, o := range options() {
			if o.letter != letter {
				continue
			}
			found = true
			if o.value != "" {
				return c.take(in, o, "-"+string(letter), letters[i+len(string(letter)):], rest)
			}

			if err := o.do(c, ""); err != nil {
				return nil, err
			}
		}
		if !found {
			return nil, fmt.Errorf("option -%c: is unknown", letter)
		}
	}

	return rest, nil
}

// take does what an option says; its value is what stands behind its letter, or the next argument.
func (c *command) take(in io.Reader, o option, called, value string, rest []string) ([]string, error) {
	if o.value != "" && value == "" {
		if len(rest) == 0 {
			return nil, fmt.Errorf("option %s: requires parameter", called)
		}
		value, rest = rest[0], rest[1:]
	}
	if value == "@-" && o.value == "data" {
		content, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("option %s: error encountered when reading a file", called)
		}
		if called != "--data-binary" && called != "--json" {
			content = trimmed(content)
		}

		if called == "--json" {
			c.bodyType = "application/json"
		}
		// A value that is no name of a file: it is added as --data-raw is, whatever it begins with.
		o, value = data(0, []string{"data-raw"}, "", nil), string(content)
	}

	return rest, o.do(c, value)
}
