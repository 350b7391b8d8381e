package ginkgo

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client calls a server as a test process does.
type client struct {
	t    *testing.T
	base string
}

func dial(t *testing.T, s *Server, n int) client {
	t.Helper()
	for _, a := range s.Args(n) {
		if base, ok := strings.CutPrefix(a, "--ginkgo.parallel.host="); ok {
			return client{t, base}
		}
	}
	t.Fatal("no host among the arguments")
	return client{}
}

func (c client) call(method, path, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}

	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func listen(t *testing.T, processes int) (*Server, *[]Report, *bytes.Buffer) {
	t.Helper()
	var reports []Report
	var out bytes.Buffer
	s, err := Listen(t.Context(), processes, Events{
		Begin:  func(Suite) {},
		Ran:    func(r Report) { reports = append(reports, r) },
		Output: func(b []byte) { out.Write(b) },
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})

	return s, &reports, &out
}

// TestProtocol goes through a run of two processes as Ginkgo's client does.
func TestProtocol(t *testing.T) {
	s, reports, out := listen(t, 2)
	one, two := dial(t, s, 1), dial(t, s, 2)
	expect := func(what string, code int, body string) func(int, string) {
		return func(gotCode int, gotBody string) {
			t.Helper()
			if gotCode != code || (body != "*" && gotBody != body) {
				t.Errorf("%s: %d %q, want %d %q", what, gotCode, gotBody, code, body)
			}
		}
	}
	expect("up", 200, "")(one.call("GET", "/up", ""))
	expect("begin", 200, "")(one.call("POST", "/suite-will-begin",
		`{"PreRunStats":{"TotalSpecs":3,"SpecsThatWillRun":2}}`))
	expect("state too early", 425, "")(two.call("GET", "/before-suite-state", ""))
	expect("state told", 200, "")(one.call("POST", "/before-suite-completed", `{"Data":"YQ==","State":"passed"}`))
	expect("state asked", 200, `{"Data":"YQ==","State":"passed"}`)(two.call("GET", "/before-suite-state", ""))
	expect("first", 200, `{"Index":0}`)(one.call("GET", "/counter", ""))
	expect("second", 200, `{"Index":1}`)(two.call("GET", "/counter", ""))
	expect("report", 200, "")(two.call("POST", "/did-run",
		`{"LeafNodeType":"It","LeafNodeText":"b","ContainerHierarchyTexts":["[sig-x] a"],"State":"failed","RunTime":1500000000,"Failure":{"Message":"m","Location":{"FileName":"/x/k8s.io/y.go","LineNumber":7}}}`))
	expect("output", 200, "")(one.call("POST", "/emit-output", "some text"))
	expect("others not ended", 425, "")(one.call("GET", "/have-nonprimary-procs-finished", ""))
	s.Ended(2)
	expect("others ended", 200, "")(one.call("GET", "/have-nonprimary-procs-finished", ""))
	expect("no abort", 200, "")(one.call("GET", "/abort", ""))
	s.Abort()
	expect("abort", 410, "")(one.call("GET", "/abort", ""))
	expect("not JSON", 400, "*")(one.call("POST", "/did-run", "{"))
	expect("no such thing", 404, "*")(one.call("GET", "/other", ""))
	if len(*reports) != 1 || (*reports)[0].Name() != "[sig-x] a b" || (*reports)[0].RunTime != 1500*time.Millisecond ||
		(*reports)[0].Failure.Location.LineNumber != 7 {
		t.Errorf("reports: %+v", *reports)
	}

	if out.String() != "some text" {
		t.Errorf("output: %q", out)
	}
}

// TestFirstProcessGone checks that the other processes do not wait for ever for one that died.
func TestFirstProcessGone(t *testing.T) {
	s, _, _ := listen(t, 2)
	s.Ended(1)
	if code, _ := dial(t, s, 2).call("GET", "/before-suite-state", ""); code != http.StatusGone {
		t.Errorf("code %d, want 410", code)
	}
}

// TestOneProcess checks that a single process is told of a second one that has ended: with a total of one it would use
// no server.
func TestOneProcess(t *testing.T) {
	s, _, _ := listen(t, 1)
	if args := strings.Join(s.Args(1), " "); !strings.Contains(args, "parallel.total=2") ||
		!strings.Contains(args, "parallel.process=1") {
		t.Errorf("arguments %s", args)
	}
	c := dial(t, s, 1)
	if code, _ := c.call("GET", "/have-nonprimary-procs-finished", ""); code != http.StatusOK {
		t.Errorf("code %d", code)
	}

	var report map[string]any
	if _, body := c.call("GET", "/aggregated-nonprimary-procs-report", ""); json.Unmarshal([]byte(body),
		&report) != nil {
		t.Errorf("the others' report is %q", body)
	}
}

// TestToken checks that other programs of the machine cannot report results.
func TestToken(t *testing.T) {
	s, reports, _ := listen(t, 1)
	base := dial(t, s, 1)
	base.base = base.base[:strings.LastIndex(base.base, "/")]
	if code, _ := base.call("POST", "/did-run", `{"LeafNodeType":"It"}`); code != http.StatusNotFound ||
		len(*reports) != 0 {
		t.Errorf("a report without the token is taken: %d", code)
	}
}

func TestSelected(t *testing.T) {
	for name, tt := range map[string]struct {
		r    Report
		want bool
	}{
		"passed":   {Report{LeafNodeType: "It", State: Passed}, true},
		"filtered": {Report{LeafNodeType: "It", State: Skipped}, false},
		"skips-itself": {Report{
			LeafNodeType: "It",
			State:        Skipped,
			Failure:      Failure{Message: "only for Linux"},
		}, true},
		"pending": {Report{LeafNodeType: "It", State: Pending}, false},
		"suite":   {Report{LeafNodeType: "SynchronizedBeforeSuite", State: Failed}, false},
	} {
		if got := tt.r.Selected(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
