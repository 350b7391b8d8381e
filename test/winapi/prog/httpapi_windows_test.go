package prog

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Constants of http.h.
const (
	httpVersion1         = 1 // HTTPAPI_VERSION, as an argument
	httpVersion2         = 2
	httpInitializeServer = 1
	httpCopyBody         = 1 // of HttpReceiveHttpRequest
	httpFillBuffer       = 1 // of HttpReceiveRequestEntityBody
	httpDisconnect       = 1 // of HttpSendHttpResponse
	httpMoreData         = 2

	httpHeaderContentLength = 11
	httpHeaderEncoding      = 6
	httpHeaderUserAgent     = 40
	httpHeaderCookie        = 25

	httpStateProperty   = 5
	httpLengthProperty  = 4
	httpBindingProperty = 7

	errorConnectionInvalid = syscall.Errno(1229)
)

type httpVersion struct{ major, minor uint16 }

type httpKnownHeader struct {
	length uint16
	value  *byte
}

type httpUnknownHeader struct {
	nameLength, length uint16
	name, value        *byte
}

type httpChunk struct {
	kind   uint32
	buffer *byte
	length uint32
	handle windows.Handle
}

// httpRequest is HTTP_REQUEST_V2.
type httpRequest struct {
	flags                                           uint32
	connection, id, context                         uint64
	version                                         httpVersion
	verb                                            uint32
	unknownVerbLength, rawURLLength                 uint16
	unknownVerb, rawURL                             *byte
	fullLength, hostLength, pathLength, queryLength uint16
	full, host, path, query                         *uint16
	remote, local                                   *windows.RawSockaddrInet4
	unknownCount                                    uint16
	unknown                                         *httpUnknownHeader
	trailerCount                                    uint16
	trailers                                        uintptr
	known                                           [41]httpKnownHeader
	received                                        uint64
	chunkCount                                      uint16
	chunks                                          *httpChunk
	raw                                             uint64
	ssl                                             uintptr
	infoCount                                       uint16
	info                                            uintptr
}

// httpResponse is HTTP_RESPONSE_V2.
type httpResponse struct {
	flags          uint32
	version        httpVersion
	status, length uint16
	reason         *byte
	unknownCount   uint16
	unknown        *httpUnknownHeader
	trailerCount   uint16
	trailers       uintptr
	known          [30]httpKnownHeader
	chunkCount     uint16
	chunks         *httpChunk
	infoCount      uint16
	info           uintptr
}

var httpapi = windows.NewLazySystemDLL("httpapi.dll")

// callHTTP calls a function of httpapi.dll.
//
//go:uintptrescapes
func callHTTP(function string, args ...uintptr) error {
	r, _, _ := httpapi.NewProc(function).Call(args...)
	if r == 0 {
		return nil
	}
	return syscall.Errno(r)
}

// httpQueue is a request queue and what tests do with it.
type httpQueue struct {
	handle  windows.Handle
	session uint64
	group   uint64
	port    int
}

// newQueue makes a queue of version 2, with a session and a group that has the prefixes, in which PORT is a free port.
func newQueue(t *testing.T, prefixes ...string) *httpQueue {
	t.Helper()
	q := &httpQueue{port: freePort(t)}
	q.open(t)
	for _, prefix := range prefixes {
		if err := q.add(prefix, 7); err != nil {
			t.Fatalf("add %s: %v", prefix, err)
		}
	}
	return q
}

func (q *httpQueue) open(t *testing.T) {
	t.Helper()
	steps := []error{
		callHTTP("HttpInitialize", httpVersion2, httpInitializeServer, 0),
		callHTTP("HttpCreateServerSession", httpVersion2, uintptr(unsafe.Pointer(&q.session)), 0),
		callHTTP("HttpCreateUrlGroup", uintptr(q.session), uintptr(unsafe.Pointer(&q.group)), 0),
		callHTTP("HttpCreateRequestQueue", httpVersion2, 0, 0, 0, uintptr(unsafe.Pointer(&q.handle))),
	}

	if err := errors.Join(steps...); err != nil {
		t.Fatalf("open a queue: %v", err)
	}
	if err := q.bind(q.handle); err != nil {
		t.Fatalf("bind the group: %v", err)
	}

	t.Cleanup(func() {
		_ = callHTTP("HttpCloseServerSession", uintptr(q.session)) // the test may have closed it
		_ = callHTTP("HttpCloseRequestQueue", uintptr(q.handle))
	})
}

func (q *httpQueue) bind(to windows.Handle) error {
	binding := struct {
		present uint32
		handle  windows.Handle
	}{1, to}
	if to == 0 {
		binding.present = 0
	}
	return callHTTP("HttpSetUrlGroupProperty", uintptr(q.group), httpBindingProperty, uintptr(unsafe.Pointer(&binding)), 16)
}

func (q *httpQueue) text(prefix string) *uint16 {
	return windows.StringToUTF16Ptr(strings.ReplaceAll(prefix, "PORT", fmt.Sprint(q.port)))
}

func (q *httpQueue) add(prefix string, context uintptr) error {
	return callHTTP("HttpAddUrlToUrlGroup", uintptr(q.group), uintptr(unsafe.Pointer(q.text(prefix))), context, 0)
}

func (q *httpQueue) remove(prefix string) error {
	return callHTTP("HttpRemoveUrlFromUrlGroup", uintptr(q.group), uintptr(unsafe.Pointer(q.text(prefix))), 0)
}

// received is a request in the buffer that it points into.
type received struct {
	buffer []uint64
	*httpRequest
}

// receive waits for the next request, or takes the one of an id.
func (q *httpQueue) receive(id uint64, flags uintptr, size int) (received, uint32, error) {
	buffer := make([]uint64, size/8)
	var n uint32
	err := callHTTP("HttpReceiveHttpRequest", uintptr(q.handle), uintptr(id), flags, uintptr(unsafe.Pointer(&buffer[0])), uintptr(size),
		uintptr(unsafe.Pointer(&n)), 0)
	return received{buffer, (*httpRequest)(unsafe.Pointer(&buffer[0]))}, n, err
}

func (r *httpRequest) url() string { return unsafe.String(r.rawURL, r.rawURLLength) }

// wide is a text of which the length is in bytes.
func wideText(text *uint16, bytes uint16) string {
	return windows.UTF16ToString(unsafe.Slice(text, bytes/2))
}

func (r received) header(known int) string {
	h := r.known[known]
	return unsafe.String(h.value, h.length)
}

// body reads all of a request's body, as HttpReceiveRequestEntityBody gives it.
func (q *httpQueue) body(r received, flags uintptr) ([]byte, error) {
	var all []byte
	for i := range r.chunkCount {
		c := unsafe.Slice(r.chunks, r.chunkCount)[i]
		all = append(all, unsafe.Slice(c.buffer, c.length)...)
	}

	buffer := make([]byte, 10000)
	for {
		var n uint32
		err := callHTTP("HttpReceiveRequestEntityBody", uintptr(q.handle), uintptr(r.id), flags, uintptr(unsafe.Pointer(&buffer[0])),
			uintptr(len(buffer)), uintptr(unsafe.Pointer(&n)), 0)
		if errors.Is(err, windows.ERROR_HANDLE_EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}

		all = append(all, buffer[:n]...)
	}
}

// send sends a response with a body, and headers by their number.
func (q *httpQueue) send(id uint64, flags uintptr, status uint16, headers map[int]string, body []byte) error {
	response := httpResponse{
		status: status,
		length: 2,
		reason: &[]byte("OK")[0],
	}
	for known, value := range headers {
		response.known[known] = httpKnownHeader{uint16(len(value)), unsafe.StringData(value)}
	}

	chunk := httpChunk{length: uint32(len(body))}
	if len(body) > 0 {
		chunk.buffer = &body[0]
		response.chunkCount, response.chunks = 1, &chunk
	}
	var n uint32
	return callHTTP("HttpSendHttpResponse", uintptr(q.handle), uintptr(id), flags, uintptr(unsafe.Pointer(&response)), 0,
		uintptr(unsafe.Pointer(&n)), 0, 0, 0, 0)
}

// more sends more of a response's body.
func (q *httpQueue) more(id uint64, flags uintptr, body []byte) error {
	chunk := httpChunk{length: uint32(len(body))}
	count := uintptr(0)
	if len(body) > 0 {
		chunk.buffer, count = &body[0], 1
	}
	return callHTTP("HttpSendResponseEntityBody", uintptr(q.handle), uintptr(id), flags, count, uintptr(unsafe.Pointer(&chunk)), 0, 0, 0, 0, 0)
}

// serve answers requests with answer until the queue is closed.
func (q *httpQueue) serve(answer func(received)) {
	go func() {
		for {
			r, _, err := q.receive(0, httpCopyBody, 1<<16)
			if err != nil {
				return
			}
			go answer(r)
		}
	}()
}

// echo answers with the request's method, URL and body.
func (q *httpQueue) echo(r received) {
	body, err := q.body(r, 0)
	if err != nil {
		return
	}
	_ = q.send(r.id, 0, 200, nil, append([]byte(r.url()+" "), body...)) // the client sees what is missing
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
