// Package hostcall is how the services of a Windows host are asked for: by the host's programs through a named pipe
// that only administrators open, and by the machine's operator at a Unix socket. On each connection there is one
// request and its answer, both JSON. It does not know what the services do; each has a package beside this one.
package hostcall

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Name is a service's, and that of its pipe and its sockets.
type Name string

// The services that a host has.
const (
	SMB   Name = "smb"
	Disk  Name = "disk"
	ISCSI Name = "iscsi"
)

// Names returns those of all services.
func Names() []Name { return []Name{SMB, Disk, ISCSI} }

// Pipe returns the name of the service's named pipe.
func (n Name) Pipe() string { return `\\.\pipe\mullion-` + string(n) }

// Limits of a request and of an answer, in bytes: a host may have all disks with all the partitions that they can have,
// and all portals with all targets.
const (
	mostAsked    = 1 << 16
	mostAnswered = 16 << 20
)

// Refusal is the answer to a request that was not carried out, and the error of who asked: Windows' words, and the
// number of Windows' error, for example 1326; 0: it has none.
type Refusal struct {
	Words string `json:"error,omitempty"`
	Code  uint32 `json:"code,omitempty"`
}

func (r *Refusal) Error() string { return r.Words }

// Refusef returns a Refusal with a number and words.
func Refusef(code uint32, format string, args ...any) error {
	return &Refusal{Words: fmt.Sprintf(format, args...), Code: code}
}

// Call is how a service with requests Q and answers A is asked for.
type Call[Q, A any] struct {
	Name Name
	// Check returns an error for a request that cannot be carried out. It may bring what it says into its usual form.
	Check func(request *Q) error
	// Operator reports whether only the machine's operator may ask so; nil: the operator has nothing to ask for.
	Operator func(request Q) bool
	// Invalid is how the refusal of a request begins that Check does not let pass, and Failed that of one that could
	// not be carried out.
	Invalid, Failed Refusal
}

// Valid checks a request. The error is a Refusal.
func (c Call[Q, A]) Valid(request *Q) error { return c.invalid(c.Check(request)) }

func (c Call[Q, A]) invalid(err error) error {
	if err == nil {
		return nil
	}
	return Refusef(c.Invalid.Code, "%s%v", c.Invalid.Words, err)
}

// Ask sends a request on a new connection and reads the answer. The error is a *Refusal if there is one.
func (c Call[Q, A]) Ask(conn io.ReadWriter, request Q) (answer A, err error) {
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return answer, fmt.Errorf("ask the host's service %s: %w", c.Name, err)
	}

	var text json.RawMessage
	var refusal Refusal
	err = json.NewDecoder(io.LimitReader(conn, mostAnswered)).Decode(&text)
	if err == nil {
		err = errors.Join(json.Unmarshal(text, &refusal), json.Unmarshal(text, &answer))
	}
	if err != nil {
		return answer, fmt.Errorf("read the answer of the host's service %s: %w", c.Name, err)
	}

	if refusal.Words != "" {
		return answer, &refusal
	}
	return answer, nil
}

// Hear reads a request and checks it, and whether who asks may do so. The error is a Refusal.
func (c Call[Q, A]) Hear(conn io.Reader, operator bool) (request Q, err error) {
	if err := json.NewDecoder(io.LimitReader(conn, mostAsked)).Decode(&request); err != nil {
		return request, c.invalid(err)
	}
	if err := c.Valid(&request); err != nil {
		return request, err
	}
	if !operator && c.Operator != nil && c.Operator(request) {
		return request, c.invalid(errors.New("only the machine's operator may do that"))
	}
	return request, nil
}

// Refuse returns the refusal for the error of a request that was not carried out.
func (c Call[Q, A]) Refuse(err error) *Refusal {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	return &Refusal{Words: c.Failed.Words + err.Error(), Code: c.Failed.Code}
}
