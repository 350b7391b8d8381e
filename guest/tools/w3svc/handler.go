package w3svc

import (
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// server is the header Server. IIS says Microsoft-IIS/10.0; this is none.
const server = "Mullion-W3SVC"

// defaults returns the default documents of the image's IIS, in its order
// (https://learn.microsoft.com/iis/configuration/system.webserver/defaultdocument/files/). The first that exists is
// sent.
func defaults() []string {
	return []string{"Default.htm", "Default.asp", "index.htm", "index.html", "iisstart.htm"}
}

// configuration is the file by which IIS is told about a folder and all below it. It is the one name that request
// filtering hides in an IIS without ASP.NET
// (https://learn.microsoft.com/iis/configuration/system.webserver/security/requestfiltering/hiddensegments/).
const configuration = "web.config"

// maxName is the length in bytes of a longer name than a file can have.
const maxName = 255

// refusal is an answer that is not a file: IIS' status with its substatus, and what a person reads.
type refusal struct {
	status, sub int
	text        string
}

// why is the reason of a refusal.
type why int

// The refusals.
const (
	notFound why = iota
	noType
	isHidden
	noListing
	noAccess
	badMethod
	configured
	unreadable
)

// refusals are IIS' status codes with what a person reads
// (https://learn.microsoft.com/troubleshoot/developer/webapps/iis/health-diagnostic-performance/http-status-code).
func refusals() map[why]refusal {
	return map[why]refusal{
		notFound:   {404, 0, "The resource has been removed, had its name changed, or is temporarily unavailable."},
		noType:     {404, 3, "The file's type has no MIME type here, or needs a handler: this server has static files alone."},
		isHidden:   {404, 8, "Request filtering hides this part of the path."},
		noListing:  {403, 14, "The folder has no default document, and is not listed."},
		noAccess:   {401, 3, "The file may not be read."},
		badMethod:  {405, 0, "A static file takes GET, HEAD and OPTIONS."},
		configured: {500, 19, "Mullion's W3SVC stands in for IIS and serves static files alone: it carries out no web.config."},
		unreadable: {500, 0, "The file could not be read."},
	}
}

func (w why) Error() string { return refusals()[w].text }

// handler serves the files of a folder.
type handler struct{ site *os.Root }

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", server)
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.Header().Set("Allow", "OPTIONS, GET, HEAD")
		w.Header().Set("Public", "OPTIONS, GET, HEAD")
		return
	default:
		w.Header().Set("Allow", "OPTIONS, GET, HEAD")
		refuse(w, badMethod)
		return
	}

	if err := h.serve(w, r); err != nil {
		no, ok := errors.AsType[why](err)
		if !ok {
			no = ofError(err)
		}
		refuse(w, no)
	}
}

// ofError returns the refusal for an error of the file system.
func ofError(err error) why {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notFound
	case errors.Is(err, fs.ErrPermission):
		return noAccess
	}
	return unreadable
}

// serve sends the file that the request names.
func (h handler) serve(w http.ResponseWriter, r *http.Request) error {
	name, err := local(r.URL.Path)
	if err != nil {
		return err
	}
	if err := h.unconfigured(name); err != nil {
		return err
	}

	file, err := h.site.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}

	if !info.IsDir() {
		return send(w, r, file, info)
	}

	if !strings.HasSuffix(r.URL.Path, "/") {
		to := *r.URL
		to.Scheme = ""
		to.Host = ""
		to.User = nil
		to.Path, to.RawPath = "/"+filepath.ToSlash(name)+"/", ""
		http.Redirect(w, r, to.String(), http.StatusMovedPermanently)
		return nil
	}

	for _, document := range defaults() {
		found, err := h.site.Open(filepath.Join(name, document))
		if err != nil {
			continue
		}
		defer found.Close()
		if info, err := found.Stat(); err == nil && !info.IsDir() {
			return send(w, r, found, info)
		}
	}

	return noListing
}

// local returns the name of a file below the site's folder, by the path of a request.
func local(of string) (string, error) {
	clean := strings.TrimPrefix(path.Clean("/"+of), "/")
	if clean == "" {
		return ".", nil
	}

	for part := range strings.SplitSeq(strings.ToLower(clean), "/") {
		// Windows leaves dots and blanks at the end of a name out: such a name would be another one's.
		if part != strings.TrimRight(part, ". ") || strings.ContainsRune(part, ':') || len(part) > maxName {
			return "", notFound
		}
		if part == configuration {
			return "", isHidden
		}
	}

	name, err := filepath.Localize(clean)
	if err != nil {
		return "", notFound
	}
	return name, nil
}

// unconfigured returns the refusal configured if the folder of name, or one above it, has a web.config.
func (h handler) unconfigured(name string) error {
	for {
		if _, err := h.site.Stat(filepath.Join(name, configuration)); err == nil {
			return configured
		}
		if name == "." {
			return nil
		}
		name = filepath.Dir(name)
	}
}

// send sends a file, or the part of it that the request asks for.
func send(w http.ResponseWriter, r *http.Request, file io.ReadSeeker, info fs.FileInfo) error {
	kind, ok := mediaType(info.Name())
	if !ok {
		return noType
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("ETag", fmt.Sprintf(`"%x:0"`, info.ModTime().UnixNano()))
	http.ServeContent(w, r, info.Name(), info.ModTime(), file)
	return nil
}

// refuse writes the answer of a refusal, and notes its substatus for the log.
func refuse(w http.ResponseWriter, no why) {
	r := refusals()[no]
	if l, ok := w.(*answer); ok {
		l.sub = r.sub
	}
	code := strconv.Itoa(r.status)
	if r.sub != 0 {
		code += "." + strconv.Itoa(r.sub)
	}
	title := html.EscapeString(fmt.Sprintf("HTTP Error %s - %s", code, http.StatusText(r.status)))
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(r.status)
	fmt.Fprintf(w, "<!DOCTYPE html>\r\n<html><head><title>%s</title></head>\r\n<body><h1>%s</h1>\r\n<p>%s</p></body></html>\r\n",
		title, title, html.EscapeString(r.text))
}
