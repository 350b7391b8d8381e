package nettest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/spec"
)

func TestMeets(t *testing.T) {
	own := map[string]string{clientOwn: "10.0.0.1", clientNode: "10.0.0.9"}
	noHost := &net.DNSError{
		Err:        "no such host",
		Name:       "web.default",
		IsNotFound: true,
	}

	tests := []struct {
		name string
		want expectation
		got  reply
		met  bool
	}{
		{"answer", answers(podOneB), reply{servers: []string{podOneB}}, true},
		{"answer_of_another", answers(podOneB), reply{servers: []string{podTwoA}}, false},
		{"no_answer", answers(podOneB), reply{err: context.DeadlineExceeded}, false},
		{"own_address", answers().seenAs(clientOwn), reply{servers: []string{podOneB}, client: "10.0.0.1"}, true},
		{"hidden_address", answers().seenAs(clientOwn), reply{servers: []string{podOneB}, client: "10.0.0.9"}, false},
		{"node_address", answers().seenAs(clientNode), reply{servers: []string{podOneB}, client: "10.0.0.9"}, true},
		{"address_not_known", answers().seenAs(clientOwn), reply{servers: []string{podOneB}}, false},
		{"silence", none(), reply{err: context.DeadlineExceeded}, true},
		{"silence_broken", none(), reply{servers: []string{podOneB}}, false},
		{"unresolved", expectation{none: true, unresolved: true}, reply{err: noHost}, true},
		{"resolved_and_silent", expectation{none: true, unresolved: true}, reply{err: context.DeadlineExceeded}, false},
		{"resolved", expectation{none: true, resolved: true}, reply{err: context.DeadlineExceeded}, true},
		{"not_resolved", expectation{none: true, resolved: true}, reply{err: noHost}, false},
		{"spread", expectation{
			servers: []string{podOneB, podTwoA},
			each:    true,
		}, reply{servers: turns(podOneB, podTwoA)}, true},
		{"not_spread", expectation{
			servers: []string{podOneB, podTwoA},
			each:    true,
		}, reply{servers: turns(podOneB, podOneB)}, false},
		{"half_of_the_requests", expectation{
			servers: []string{podOneB, podTwoA},
			each:    true,
		}, reply{servers: turns(podOneB, podTwoA)[:4]}, false},
		{"sticky", expectation{same: true}, reply{servers: turns(podTwoA, podTwoA)}, true},
		{"not_sticky", expectation{same: true}, reply{servers: turns(podOneB, podTwoA)}, false},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.want.meets(tt.got, own); got != tt.met {
				t.Errorf("%s met by %s = %v, want %v", tt.want, tt.got, got, tt.met)
			}
		})
	}
}

func TestChosen(t *testing.T) {
	names := func(pattern string, dual bool) []string {
		t.Helper()
		cfg := Config{Mode: spec.ModeL2Bridge, Profile: spec.ProfileFaithful}
		if pattern != "" {
			cfg.Only = regexp.MustCompile(pattern)
		}
		flows, err := chosen(cfg, dual)
		if err != nil {
			t.Fatal(err)
		}

		var all []string
		for _, f := range flows {
			all = append(all, f.Name)
		}

		return all
	}

	all, dual := names("", false), names("", true)
	if len(all) == 0 || len(dual) <= len(all) {
		t.Errorf("%d flows, with IPv6 %d", len(all), len(dual))
	}

	if diff := cmp.Diff([]string{"node → NodePort of another node", "node → its own NodePort"},
		names("^node → .*NodePort", false)); diff != "" {
		t.Errorf("flows that match (-want +got):\n%s", diff)
	}
	if six := names("IPv6", true); len(six) == 0 || len(six) >= len(dual) {
		t.Errorf("%d flows over IPv6 of %d", len(six), len(dual))
	}

	if _, err := chosen(Config{
		Mode:    spec.ModeL2Bridge,
		Profile: spec.ProfileFaithful,
		Only:    regexp.MustCompile("^none$"),
	}, false); !errors.Is(err, ErrNoFlow) {
		t.Errorf("a pattern that matches none: %v", err)
	}
}

// turns returns the servers of requestCount requests that a and b answer in turn.
func turns(a, b string) []string {
	var all []string
	for range requestCount / 2 {
		all = append(all, a, b)
	}
	return all
}

func TestTable(t *testing.T) {
	for _, mode := range spec.Modes() {
		if slices.ContainsFunc(Flows(mode, spec.ProfileModern),
			func(f Flow) bool { return f.want.unresolved && !strings.Contains(f.Name, "does not know") }) {
			t.Errorf("%s: the profile modern leaves a name unresolved", mode)
		}

		flows := Flows(mode, spec.ProfileFaithful)
		seen := map[string]bool{}
		fails := false
		for _, f := range flows {
			if seen[f.Name] {
				t.Errorf("%s: two flows are called %q", mode, f.Name)
			}

			seen[f.Name] = true
			fails = fails || f.want.none
			switch {
			case f.from == "" || f.to == nil || len(f.Protocols) == 0:
				t.Errorf("%s: %q is not whole", mode, f.Name)
			case f.source.Title == "" || !strings.HasPrefix(f.source.URL, "https://"):
				t.Errorf("%s: %q does not say where its expectation is from", mode, f.Name)
			case f.want.unresolved && !f.want.none:
				t.Errorf("%s: %q: a name that does not resolve gets no answer", mode, f.Name)
			}
		}

		if !fails && mode != spec.ModeTransparent {
			t.Errorf("%s: no flow has to fail", mode)
		}
	}
}

func TestShort(t *testing.T) {
	for in, want := range map[string]string{
		"dial tcp 10.0.0.1:80: connect: connection refused":                   "connection refused",
		"Get http://x: context deadline exceeded (Client.Timeout exceeded …)": "no answer",
		"read udp 1->2: i/o timeout":                                          "no answer",
		"connect: no route to host: network is unreachable":                   "unreachable",
		"something else": "something else",
	} {
		if got := short(&podError{in}); got != want {
			t.Errorf("short(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestAnswerOfAPod: a pod tells of a name that does not resolve by a page of its own
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/agnhost/netexec/netexec.go, dialHandler).
func TestAnswerOfAPod(t *testing.T) {
	page := httptest.NewRecorder()
	http.Error(page, "host and/or port param are invalid. lookup web.x: no such host", http.StatusBadRequest)
	err := readAnswer("one-a", page.Result(), nil)
	if err == nil || short(err) != noName || !strings.Contains(err.Error(), "ask pod one-a: 400") {
		t.Errorf("%v: %q", err, short(err))
	}
}

// TestFaults holds that the causes of calls made here are told as those that pods tell of in words.
func TestFaults(t *testing.T) {
	for want, errs := range map[string][]error{
		noName: {&net.DNSError{
			Err:        "no such host",
			Name:       "web",
			IsNotFound: true,
		}},
		refused:     {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, fmt.Errorf("ask: %w", syscall.ECONNREFUSED)},
		unreachable: {&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}},
		noAnswer: {
			nil, fmt.Errorf("ask: %w", context.DeadlineExceeded), &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
		},
		"it is refused here": {errors.New("it is refused\nhere")},
	} {
		for _, err := range errs {
			if got := short(err); got != want {
				t.Errorf("%v is told as %q, want %q", err, got, want)
			}
		}
	}
}

func TestReportText(t *testing.T) {
	page := limitations()

	r := Report{
		Mode:    spec.ModeL2Bridge,
		Profile: spec.ProfileFaithful,
		Results: []Result{
			{
				Flow:     "pod → pod, same node",
				Protocol: TCP,
				Expected: answers(podOneB).String(),
				Seen:     "answer from one-b",
				Outcome:  AsDocumented,
				Took:     12 * time.Millisecond,
				Source:   podNetwork(),
			},
			{
				Flow:     "node → its own NodePort",
				Protocol: UDP,
				Expected: none().String(),
				Seen:     "answer from one-b",
				Outcome:  Different,
				Took:     3 * time.Second,
				Source:   page,
			},
			{
				Flow:     "node → ClusterIP",
				Protocol: UDP,
				Expected: none().String(),
				Seen:     "answer from one-b",
				Outcome:  Different,
				Took:     time.Millisecond,
				Source:   page,
			},
			{
				Flow:     "pod → Service by FQDN",
				Protocol: TCP,
				Expected: "an answer",
				Seen:     "the cluster has no DNS",
				Outcome:  Skipped,
				Source:   dns(),
			},
		},
	}

	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, b.String(), "report.txt")
}

func TestDocumentedFlows(t *testing.T) {
	var b strings.Builder
	if err := Markdown(&b); err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, b.String(), "../../../../docs/network-flows.md")
}
