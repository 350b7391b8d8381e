package parts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/process/component"
)

// answer is what a client of the API gets for one question: an object, or an error in place of any answer.
type answer struct {
	code   int
	object any
	err    error
}

// answers are given one after the other. When none is left, last is called.
type answers struct {
	left []answer
	last context.CancelFunc
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(a.left) == 0 {
		a.last()
		return nil, req.Context().Err()
	}
	next := a.left[0]
	a.left = a.left[1:]
	if next.err != nil {
		return nil, next.err
	}

	body, err := json.Marshal(next.object)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: next.code,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(bytes.NewReader(body)),
		Request:    req,
	}, nil
}

// refusal returns an API server's answer that is an error.
func refusal(code int, reason metav1.StatusReason, message string) answer {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Code:     int32(code),
		Reason:   reason,
		Message:  message,
	}
	return answer{code: code, object: status}
}

// told returns an API server's answer with a node that has a Ready condition.
func told(status corev1.ConditionStatus, at time.Time, message string) answer {
	node := corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "win-1"},
	}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type:              corev1.NodeReady,
		Status:            status,
		LastHeartbeatTime: metav1.NewTime(at),
		Message:           message,
	}}
	return answer{code: http.StatusOK, object: node}
}

// startAmid starts the component that of returns while the API gives these answers, until none is left.
func startAmid(t *testing.T, all []answer,
	of func(client func() (kubeclient.Interface, error)) component.Component,
) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return of(func() (kubeclient.Interface, error) {
		return kubeclient.NewForConfig(&rest.Config{
			Host:          "http://api.example",
			ContentConfig: rest.ContentConfig{ContentType: "application/json"},
			Transport:     &answers{left: all, last: cancel},
		})
	}).Start(ctx)
}

// awaitReady waits for a node to be Ready while the API gives these answers.
func awaitReady(t *testing.T, since time.Time, all ...answer) error {
	t.Helper()
	return startAmid(t, all, func(client func() (kubeclient.Interface, error)) component.Component {
		return &NodeReady{
			Node:   "win-1",
			Since:  since,
			Client: client,
		}
	})
}

// A node is registered when the API has it with an address of the node's network, Ready or not.
func TestNodeRegistered(t *testing.T) {
	register := func(addresses ...corev1.NodeAddress) answer {
		node := corev1.Node{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: "win-1"},
		}
		node.Status.Addresses = addresses
		return answer{code: http.StatusOK, object: node}
	}

	hostname := corev1.NodeAddress{Type: corev1.NodeHostName, Address: "win-1"}
	internal := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}
	missing := refusal(http.StatusNotFound, metav1.StatusReasonNotFound, `nodes "win-1" not found`)
	for _, tt := range []struct {
		name string
		says []answer
		want string // what the error must contain, "" for a node that is registered
	}{
		{"registered", []answer{missing, register(), register(hostname, internal)}, ""},
		{"missing", []answer{missing}, "it has not registered"},
		{"no-address", []answer{register(hostname)}, "no internal address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := startAmid(t, tt.says, func(client func() (kubeclient.Interface, error)) component.Component {
				return &NodeRegistered{Node: "win-1", Client: client}
			})
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Start = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestNodeReady(t *testing.T) {
	const posting = "kubelet is posting ready status"
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before, after := since.Add(-time.Hour), since.Add(time.Second)
	missing := refusal(http.StatusNotFound, metav1.StatusReasonNotFound, `nodes "win-1" not found`)
	forbidden := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `nodes "win-1" is forbidden`)
	for _, tt := range []struct {
		name string
		says []answer
		// want is what the error must contain, "" for a node that is Ready; never is what it must not contain.
		want, never string
	}{
		{"ready", []answer{told(corev1.ConditionTrue, after, posting)}, "", ""},
		{"ready-after-errors", []answer{forbidden, missing, told(corev1.ConditionTrue, after, posting)}, "", ""},
		{"no-answer", nil, "the API has told nothing of it", "question"},
		{"not-registered", []answer{missing}, "it has not registered", "question"},
		{"registered-after-a-refusal", []answer{forbidden, missing}, "it has not registered", "forbidden"},
		{"forbidden", []answer{forbidden}, `nodes "win-1" is forbidden`, "registered"},
		{"refused", []answer{{err: syscall.ECONNREFUSED}}, "connection refused", "registered"},
		{
			"forbidden-later",
			[]answer{told(corev1.ConditionFalse, after, "no CNI"), forbidden},
			"no CNI; the last question", "registered",
		},
		{"not-ready", []answer{forbidden, told(corev1.ConditionFalse, after, "no CNI")}, "no CNI", "forbidden"},
		{"stale", []answer{told(corev1.ConditionTrue, before, posting)}, "was Ready at 2026-03-01T11:00:00Z", posting},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := awaitReady(t, since, tt.says...)
			if tt.want == "" {
				if err != nil {
					t.Errorf("Start = %v", err)
				}
				return
			}

			if err == nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Start = %v, want %q and the end of the context", err, tt.want)
			}
			if tt.never != "" && strings.Contains(err.Error(), tt.never) {
				t.Errorf("Start = %v, which must not say %q", err, tt.never)
			}
		})
	}

	if err := awaitReady(t, since, answer{err: syscall.ECONNREFUSED}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Start = %v, which does not wrap the API's error", err)
	}
}

// A node that lacks only a CNI plugin counts as ready where NoCNI is set; one that lacks more does not.
func TestLacksCNI(t *testing.T) {
	const network = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
	for message, want := range map[string]bool{
		network: true,
		"[" + network + ", CSINode is not yet initialized]":                        true,
		"[" + network + ", failed to initialize CSINode: nodes is forbidden]":      false,
		"[container runtime is down, " + network + "]":                             false,
		network + ": C:\\etc\\cni\\net.d\\10-x.conf: unexpected end of JSON input": false,
		"container runtime status check may not have completed yet":                false,
	} {
		if got := lacksCNI(message); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}
