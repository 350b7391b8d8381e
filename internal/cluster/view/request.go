package view

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Request is one thing that may be asked: a row of the table.
type Request struct {
	// Path is its name in the words of http.ServeMux, with what is asked for in braces: "hns/{node}".
	Path string
	// What says what is answered.
	What string
	// Query are the names of further words that it may have.
	Query []string
	// Within bounds the time of an answer, Most its bytes, and AtOnce how many are made at a time, for all users.
	Within time.Duration
	Most   int64
	AtOnce int
	// Answer writes the answer. An error before the first byte is told by its kind.
	Answer func(ctx context.Context, ask Ask, to io.Writer) error
}

// Ask is what is asked for: the words in the path and in the query. They come from the client, and are to be looked up
// in what there is, never used as they are.
type Ask struct {
	word  func(string) string
	query url.Values
}

// Word returns what stands for a name in braces of the path.
func (a Ask) Word(name string) string { return a.word(name) }

// Option returns a further word, "" where it was not given.
func (a Ask) Option(name string) string { return a.query.Get(name) }

// JSON makes an answer of a value.
func JSON[T any](get func(ctx context.Context, ask Ask) (T, error)) func(context.Context, Ask, io.Writer) error {
	return func(ctx context.Context, ask Ask, to io.Writer) error {
		v, err := get(ctx, ask)
		if err != nil {
			return err
		}
		return json.NewEncoder(to).Encode(v)
	}
}

// Kind is what sort of a refusal it is, for the client to say what to do.
type Kind string

// The kinds of refusals.
const (
	// Stranger: the user may not read.
	Stranger Kind = "stranger"
	// Busy: there are too many requests.
	Busy Kind = "busy"
	// NotFound: there is no such node, part, pod, or no such thing in this kind of cluster.
	NotFound Kind = "not found"
	// NotWindows: the node is a Linux node.
	NotWindows Kind = "not windows"
	// Down: the node or the part does not answer.
	Down Kind = "down"
	// Wrong: it is no request.
	Wrong Kind = "wrong request"
	// Internal is all else.
	Internal Kind = "internal"
)

// KindError is an error of a kind.
type KindError struct {
	Kind Kind
	Err  error
}

func (e *KindError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *KindError) Unwrap() error { return e.Err }

// refusal is how an error goes over the socket.
type refusal struct {
	Kind  Kind   `json:"kind"`
	Error string `json:"error"`
}

func (r refusal) text() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "{}"
	}
	return string(text) + "\n"
}

// kindOf returns the kind of a status, for refusals that have no other.
func kindOf(code int) Kind {
	switch code {
	case http.StatusForbidden:
		return Stranger
	case http.StatusServiceUnavailable:
		return Busy
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusBadRequest,
		http.StatusRequestHeaderFieldsTooLarge:
		return Wrong
	}
	return Internal
}

// codeOf returns the status of a kind.
func codeOf(kind Kind) int {
	switch kind {
	case Stranger:
		return http.StatusForbidden
	case Busy:
		return http.StatusServiceUnavailable
	case NotFound, NotWindows:
		return http.StatusNotFound
	case Down:
		return http.StatusBadGateway
	case Wrong:
		return http.StatusBadRequest
	case Internal:
	}

	return http.StatusInternalServerError
}
