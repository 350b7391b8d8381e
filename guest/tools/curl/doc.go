// Package curl is curl.exe as Windows has it since build 17063, for the protocols http and https: the options that
// scripts and probes use (https://curl.se/docs/manpage.html), its messages and its exit codes. Another option is refused
// as curl refuses one that it does not know. There is no progress meter, and no cookies are kept.
package curl

import (
	"fmt"
	"io"
	"strings"
)

// version is that of Windows Server 2022's curl in 2024.
const version = "8.4.0"

// Streams are the standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs curl with its arguments and returns its exit code, that of the last transfer
// (https://curl.se/docs/manpage.html#EXIT).
func Run(s Streams, getenv func(string) string, args []string) int {
	c, err := parse(s.In, args)
	if err != nil {
		fmt.Fprintf(s.Err, "curl: %v\ncurl: try 'curl --help' for more information\n", err)
		return exitUsage
	}

	switch {
	case c.help:
		fmt.Fprint(s.Out, usage())
		return 0
	case c.version:
		fmt.Fprintf(s.Out, "curl %s (Windows) libcurl/%s Schannel WinIDN\nProtocols: http https\nFeatures: HTTPS-proxy IPv6 libz SSL UnixSockets\n",
			version, version)
		return 0

	case len(c.urls) == 0:
		fmt.Fprintln(s.Err, "curl: no URL specified!\ncurl: try 'curl --help' for more information")
		return exitUsage
	}

	t := &transfers{
		Streams: s,
		command: c,
		getenv:  getenv,
	}

	code := 0
	for i, url := range c.urls {
		to := output{}
		if i < len(c.outputs) {
			to = c.outputs[i]
		}
		code = t.one(url, to)
	}

	return code
}

func usage() string {
	var b strings.Builder
	b.WriteString("Usage: curl [options...] <url>\n")
	for _, o := range options() {
		letter := "    "
		if o.letter != 0 {
			letter = fmt.Sprintf("-%c, ", o.letter)
		}
		name := "--" + o.names[0]
		if o.value != "" {
			name += " <" + o.value + ">"
		}
		fmt.Fprintf(&b, " %s%-28s %s\n", letter, name, o.what)
	}

	return b.String()
}
