package nettest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"mullion.dev/mullion/internal/base/errtext"
	"mullion.dev/mullion/internal/spec"
)

// Source is the page that documents what is expected.
type Source struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// The test's places. Pods are named after their node and a letter.
const (
	podOneA   = "one-a"
	podOneB   = "one-b"
	podTwoA   = "two-a"
	podLinux  = "linux-a"
	nodeOne   = "node one"
	nodeTwo   = "node two"
	nodeLinux = "the Linux node"
	outside   = "outside"
)

// Ports of netexec, and the ports at which Services and nodes offer them.
const (
	httpPort     = 8080
	udpPort      = 8081
	serviceTCP   = 80
	serviceUDP   = 90
	hostPortTCP  = 28080
	hostPortUDP  = 28081
	portOfNode   = 28090 // the port at which a node itself answers, TCP and UDP
	requestCount = 8     // for a flow that checks how requests are spread
)

// target returns where a flow goes, once the pods and Services exist.
type target func(b *bed, p Protocol) (host string, port int32)

// Flow is one line of the table: the caller, the callee, and the result that Windows documents.
type Flow struct {
	// Name is what a person reads: "pod → ClusterIP".
	Name      string
	Protocols []Protocol
	from      string
	to        target
	want      expectation
	modern    *expectation // the expectation with the profile modern, if it differs
	older     *expectation // the expectation before Windows Server 2022, if it differs
	// request is the request to the server; empty: hostname, for the server's name.
	request request
	source  Source
	needs   need
	modes   []spec.Mode // none: all
	// six says that the flow is over IPv6, fourAlone that there is no such flow over IPv6.
	six, fourAlone bool
}

// request is the path of a request over HTTP, and the word that is sent over UDP.
type request string

const (
	hostname request = "hostname"
	clientIP request = "clientip"
	// health asks kube-proxy at a Service's spec.healthCheckNodePort; the HTTP status is turned into one of the answers
	// below.
	health request = "healthz"
)

// The answers to health.
const (
	withPod    = "a node that has a pod of it"
	withoutPod = "a node that has none"
)

func (f Flow) asks() request {
	if f.request == "" {
		return hostname
	}
	return f.request
}

// need says what a flow needs of the cluster.
type need struct {
	dns      bool
	twoNodes bool
	linux    bool // a Linux node
	affinity bool
	// ingress names a Service that must have a load balancer's address.
	ingress string
}

// expectation is the expected result of a flow.
type expectation struct {
	// none: no answer comes.
	none bool
	// unresolved: the name does not resolve; a name that resolves and does not answer is something else.
	unresolved bool
	// resolved: the name resolves, and nobody answers at the port.
	resolved bool
	// servers are the only ones who may answer; empty: anybody.
	servers []string
	// each says that every one of servers answers within requestCount requests, same that a single one answers them
	// all.
	each, same bool
	// client is the address that the server sees: clientOwn, clientNode or anything.
	client string
}

const (
	clientOwn  = "the caller's own"
	clientNode = "the caller's node's"
)

func (e expectation) requests() int {
	if e.each || e.same {
		return requestCount
	}
	return 1
}

func (e expectation) String() string {
	switch {
	case e.unresolved:
		return "the name does not resolve"
	case e.resolved:
		return "the name resolves, no answer"
	case e.none:
		return "no answer"
	}

	var b strings.Builder
	switch {
	case e.each:
		fmt.Fprintf(&b, "answers, in turn from %s", strings.Join(e.servers, " and "))
	case e.same:
		b.WriteString("answers, always from the same pod")
	case len(e.servers) > 0:
		fmt.Fprintf(&b, "answer from %s", strings.Join(e.servers, " or "))
	default:
		b.WriteString("an answer")
	}

	if e.client != "" {
		fmt.Fprintf(&b, " to %s address", e.client)
	}

	return b.String()
}

// reply is the result of one flow's requests.
type reply struct {
	servers []string // one for each answered request
	client  string   // the address that a server saw, for the request clientIP
	err     error    // the error of the last request without an answer
}

func (r reply) String() string {
	if len(r.servers) == 0 {
		return short(r.err)
	}
	names := slices.Clone(r.servers)
	slices.Sort(names)
	text := "answer from " + strings.Join(slices.Compact(names), " and ")
	if r.client != "" {
		text += " to " + r.client
	}

	if r.err != nil {
		text += ", then " + short(r.err)
	}

	return text
}

// Faults of a call, in the few words that matter in a table.
const (
	noAnswer    = "no answer"
	noName      = "the name does not resolve"
	refused     = "connection refused"
	unreachable = "unreachable"
)

// podError is the error of a call that a program in a pod has made, which tells of it in words.
type podError struct{ text string }

func (e *podError) Error() string { return e.text }

// fault returns what the words mean, "" for what is not known.
func (e *podError) fault() string {
	for _, known := range []struct{ part, fault string }{
		{"no such host", noName},
		{"refused", refused},
		{"Client.Timeout", noAnswer},
		{"deadline", noAnswer},
		{"timeout", noAnswer},
		{"timed out", noAnswer},
		{"unreachable", unreachable},
	} {
		if strings.Contains(e.text, known.part) {
			return known.fault
		}
	}

	return ""
}

// short returns the few words of an error that matter in a table.
func short(err error) string {
	if err == nil {
		return noAnswer
	}

	return cmp.Or(faultOf(err), strings.ReplaceAll(err.Error(), "\n", " "))
}

// faultOf returns what an error of a call means, "" for what is not known.
func faultOf(err error) string {
	if pod, ok := errors.AsType[*podError](err); ok {
		return pod.fault()
	}
	if api, ok := errors.AsType[*apierrors.StatusError](err); ok { // it has called the pod, and tells of it in words
		return (&podError{api.ErrStatus.Message}).fault()
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return noName
	}

	slow, timed := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case errors.Is(err, context.DeadlineExceeded), timed && slow.Timeout(), errtext.TooLate(err):
		return noAnswer
	case errors.Is(err, syscall.ENETUNREACH):
		return unreachable
	}

	return ""
}

// meets reports whether the reply is as expected; addresses maps the words for client to addresses.
func (e expectation) meets(r reply, addresses map[string]string) bool {
	switch {
	case e.unresolved:
		return len(r.servers) == 0 && short(r.err) == noName
	case e.resolved:
		return len(r.servers) == 0 && short(r.err) != noName
	case e.none:
		return len(r.servers) == 0
	case len(r.servers) < e.requests():
		return false
	}

	names := slices.Clone(r.servers)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(e.servers) > 0 && slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(e.servers, n) }) {
		return false
	}
	if (e.each && len(names) != len(e.servers)) || (e.same && len(names) != 1) {
		return false
	}

	return e.client == "" || addresses[e.client] == r.client
}
