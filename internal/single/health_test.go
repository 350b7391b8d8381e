package single

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHealthWith follows Docker's rules: so many failures in a row are unhealthy, one success is healthy, and failures
// do not count while it starts.
func TestHealthWith(t *testing.T) {
	began := time.Now()
	check := &HealthCheck{Retries: 2, StartPeriod: time.Minute}
	h := Health{Status: Starting}
	for i, step := range []struct {
		after  time.Duration
		code   int
		status string
		streak int
	}{
		{time.Second, 1, Starting, 0},
		{time.Minute, 1, Starting, 1},
		{2 * time.Minute, -1, Unhealthy, 2},
		{3 * time.Minute, 1, Unhealthy, 3},
		{4 * time.Minute, 0, Healthy, 0},
		{5 * time.Minute, 7, Healthy, 1},
		{6 * time.Minute, 7, Unhealthy, 2},
	} {
		before := h
		h = h.with(HealthResult{Start: began.Add(step.after), ExitCode: step.code}, check, began)
		if h.Status != step.status || h.FailingStreak != step.streak || len(h.Log) != min(i+1, mostHealthLog) {
			t.Errorf("step %d: %+v", i, h)
		}
		if len(before.Log) != min(i, mostHealthLog) {
			t.Errorf("step %d has changed what another one reads", i)
		}
	}

	// Once healthy, the time of the start counts no more.
	h = Health{Status: Healthy}.with(HealthResult{Start: began, ExitCode: 1}, check, began)
	if h.FailingStreak != 1 {
		t.Errorf("%+v", h)
	}
	h = Health{Status: Starting}
	for range 3 {
		h = h.with(HealthResult{Start: began, ExitCode: 1}, &HealthCheck{}, began)
	}
	if h.Status != Unhealthy {
		t.Errorf("three failures are the most: %+v", h)
	}
}

func TestHealthPause(t *testing.T) {
	for _, tt := range []struct {
		check  HealthCheck
		status string
		ran    time.Duration
		want   time.Duration
	}{
		{HealthCheck{}, Starting, 0, 30 * time.Second},
		{HealthCheck{Interval: time.Second}, Healthy, time.Hour, time.Second},
		{HealthCheck{StartPeriod: time.Minute}, Starting, 0, 5 * time.Second},
		{HealthCheck{StartPeriod: time.Minute, StartInterval: time.Second}, Starting, 0, time.Second},
		{HealthCheck{StartPeriod: time.Minute}, Healthy, 0, 30 * time.Second},
		{HealthCheck{StartPeriod: time.Minute}, Starting, 50 * time.Second, 5 * time.Second},
		{HealthCheck{StartPeriod: time.Minute}, Starting, 58 * time.Second, 2 * time.Second},
		{HealthCheck{StartPeriod: 10 * time.Second, StartInterval: time.Second}, Starting, 0, time.Second},
		{HealthCheck{StartPeriod: 10 * time.Second}, Healthy, time.Second, 30 * time.Second},
		{HealthCheck{StartPeriod: time.Minute}, Starting, time.Minute, 30 * time.Second},
	} {
		if got := tt.check.pause(tt.status, tt.ran); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestHealthOfImage: what a run does not say is the image's.
func TestHealthOfImage(t *testing.T) {
	fields := func(text string) (all map[string]json.RawMessage) {
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}

	const web = `{"Healthcheck": {"Test": ["CMD", "web.exe", "-check"], "Interval": 5000000000, "Retries": 2}}`
	for name, tt := range map[string]struct {
		own    *HealthCheck
		fields string
		want   []string
		raw    bool
		every  time.Duration
	}{
		"the-image's":   {nil, web, []string{"web.exe", "-check"}, false, 5 * time.Second},
		"another-time":  {&HealthCheck{Interval: time.Minute}, web, []string{"web.exe", "-check"}, false, time.Minute},
		"another":       {&HealthCheck{Test: []string{HealthShell, `dir "C:\a b"`}}, web, []string{`cmd /S /C dir "C:\a b"`}, true, 5 * time.Second},
		"none":          {nil, `{}`, nil, false, 0},
		"not-asked":     {NoHealth(), web, nil, false, 5 * time.Second},
		"the-image-not": {nil, `{"Healthcheck": {"Test": ["NONE"]}}`, nil, false, 0},
		"a-time-alone":  {&HealthCheck{Retries: 1}, `{}`, nil, false, 0},
		"of-a-shell": {
			nil,
			`{"Healthcheck": {"Test": ["CMD-SHELL", "exit 1"]}, "Shell": ["powershell", "-Command"]}`,
			[]string{"powershell -Command exit 1"},
			true,
			0,
		},
		"empty": {nil, `{"Healthcheck": {"Test": []}}`, nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			check, err := tt.own.ofImage(fields(tt.fields))
			if err != nil {
				t.Fatal(err)
			}
			args, raw, err := check.command()
			if diff := cmp.Diff(tt.want, args); diff != "" || raw != tt.raw || err != nil || check.Interval != tt.every {
				t.Errorf("%+v, raw %t, %v: %s", check, raw, err, diff)
			}
		})
	}

	for _, text := range []string{
		`{"Healthcheck": {"Test": "x"}}`, `{"Healthcheck": {"Interval": 1}}`, `{"Healthcheck": {"Retries": -1}}`,
		`{"Healthcheck": {"Timeout": -5}}`, `{"Healthcheck": 7}`, `{"Shell": "cmd"}`,
	} {
		var none *HealthCheck
		if _, err := none.ofImage(fields(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	if _, _, err := (&HealthCheck{Test: []string{"HTTP", "/"}}).command(); err == nil {
		t.Error("HTTP is taken")
	}
}

// TestHealthOutput keeps as much of what a check says as Docker does.
func TestHealthOutput(t *testing.T) {
	l := &limited{}
	for range 3 {
		if n, err := l.Write([]byte(strings.Repeat("x", 2000))); n != 2000 || err != nil {
			t.Error(n, err)
		}
	}
	if got := l.text(); got != strings.Repeat("x", mostHealthOutput)+"..." {
		t.Errorf("%d bytes", len(got))
	}
}

// TestRegisterHealth: who lists containers sees what was asked; one that has ended is not healthy, also after a kill.
func TestRegisterHealth(t *testing.T) {
	p := At(t.TempDir(), "")
	r := opened(t, p)
	health := func(id string) *Health {
		t.Helper()
		for _, c := range r.list() {
			if c.ID == id {
				return c.Health
			}
		}
		t.Fatal("it is not listed")
		return nil
	}

	begin := func(id string, keep bool) *container {
		k := begun(t, r, id, Run{Keep: keep})
		k.check = &HealthCheck{Test: []string{HealthShell, "x"}}
		if err := r.begun(k); err != nil {
			t.Fatal(err)
		}
		return k
	}

	k, gone := begin("1", true), begin("2", false)
	if h := health("1"); h == nil || h.Status != Starting || h.Log == nil {
		t.Errorf("%+v", h)
	}
	ok := func(h Health) Health { return h.with(HealthResult{Output: "fine"}, k.check, time.Now()) }
	if got := r.asked("1", ok); got != Healthy || health("1").Status != Healthy {
		t.Errorf("%s, %+v", got, health("1"))
	}

	if err := r.over(k, End{}, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.over(gone, End{}, ""); err != nil || len(r.health) != 0 {
		t.Errorf("%v is known of those that are gone, %v", r.health, err)
	}
	r = opened(t, p)
	if h := health("1"); h == nil || h.Status != Unhealthy || len(h.Log) != 1 || h.Log[0].Output != "fine" {
		t.Errorf("%+v", h)
	}

	// One that begins anew starts anew, with what was said before, as with Docker.
	if err := r.again(k); err != nil {
		t.Fatal(err)
	}
	if err := r.begun(k); err != nil {
		t.Fatal(err)
	}
	if h := health("1"); h == nil || h.Status != Starting || len(h.Log) != 1 || h.Log[0].Output != "fine" {
		t.Errorf("after a restart: %+v", h)
	}

	begin("3", true)
	r = opened(t, p) // killed
	if h := health("3"); h == nil || h.Status != Unhealthy {
		t.Errorf("%+v", h)
	}
}
