package container

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/single"
)

// TestFilter lists what fits, by the rules of `docker ps --filter`.
func TestFilter(t *testing.T) {
	all := containersAt(time.Now()) // made, web (running), job (exited)
	for _, tc := range []struct {
		filters, want string
	}{
		{"", "web"},
		{"name=e", "web"},
		{"name=/we", "web"},
		{"name=zz", ""},
		{"id=bbb", "web"},
		{"status=exited", "job"},
		{"status=created status=exited", "made job"},
		{"status=running status=dead", "web"},
		{"label=team", "web"},
		{"label=team=web label=a=1", "web"},
		{"label=team=web label=a=2", ""},
		{"ancestor=app:v1 status=created", "made"},
		{"ancestor=app status=exited", "job"},
		{"ancestor=ap status=exited", ""},
		{"exited=3221225477 status=exited", "job"},
		{"exited=0 status=exited", ""},
		{"before=made", "web"},
		{"since=job", "web"},
		{"since=web", ""},
		{"network=nat", "web"},
		{"network=none", ""},
		{"volume=/srv", "web"},
		{`volume=C:\app`, "web"},
		{"publish=8000", "web"},
		{"publish=53", ""},
		{"publish=53/udp", "web"},
		{"publish=1-90", "web"},
		{"NAME=web", "web"},
	} {
		f, err := parseFilters(strings.Fields(tc.filters))
		if err != nil {
			t.Errorf("%s: %v", tc.filters, err)
			continue
		}

		chosen, err := f.chosen(all)
		var names []string
		for _, c := range (listOptions{last: -1, filters: f}).shown(chosen) {
			names = append(names, c.Name)
		}

		if got := strings.Join(names, " "); err != nil || got != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.filters, got, err, tc.want)
		}
	}
}

// TestLast lists the newest, whatever their state.
func TestLast(t *testing.T) {
	all := containersAt(time.Now())
	for want, o := range map[string]listOptions{
		"made":         {latest: true},
		"made web":     {last: 2},
		"made web job": {last: 9},
		"web":          {last: -1},
	} {
		var names []string
		for _, c := range o.shown(all) {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
}

// TestListFormat prints templates as Docker does; what an image's maker wrote draws nothing on a terminal.
func TestListFormat(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all := containersAt(now)[1:]
	all[1].Labels = map[string]string{"evil": "\x1b[2J"}
	for _, tc := range []struct{ template, want string }{
		{"{{.Names}}", "web\njob\n"},
		{`{{.Names}}\t{{.State}}`, "web\trunning\njob\texited\n"},
		{`table {{.Names}}\t{{.Label "team"}}`, "NAMES     team\nweb       web\njob       \n"},
		{"{{json .Labels}} {{upper .Networks}} {{truncate .ID 4}} {{pad .State 1 2}}|", "\"a=1,team=web\" NAT bbbb  running  |\n\"evil=·[2J\" NAT cccc  exited  |\n"},
		{"{{join (split .Ports \", \") \";\"}}{{title .State}}", "127.0.0.1:8000-8001->80-81/tcp;127.0.0.1:53->53/udpRunning\nExited\n"},
	} {
		f, err := dockerout.Parse(tc.template, "")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = listOptions{all: true, format: f}.print(invoke.Env{Out: &out, Terminal: true}, all, now)
		if diff := cmp.Diff(tc.want, strings.ReplaceAll(out.String(), `\u001b`, "·")); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", tc.template, err, diff)
		}
	}

	for _, template := range []string{"{{.Nothing}}", "{{.Label}}"} {
		f, err := dockerout.Parse(template, "see")
		if err == nil {
			err = listOptions{all: true, format: f}.print(invoke.Env{Out: &bytes.Buffer{}}, all, now)
		}
		if err == nil {
			t.Errorf("%s is taken", template)
		}
	}

	var out bytes.Buffer
	f, _ := dockerout.Parse("json", "")
	if err := (listOptions{format: f}).print(invoke.Env{Out: &out}, all, now); err != nil ||
		!strings.HasPrefix(out.String(), `{"ID":"bbbbbbbbbbbb","Image"`) || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q, %v", &out, err)
	}
}

// TestPort prints what `docker port` does.
func TestPort(t *testing.T) {
	all := containersAt(time.Now())
	for _, tc := range []struct {
		of   string
		want string
	}{
		{"", "80/tcp -> 127.0.0.1:8000\n81/tcp -> 127.0.0.1:8001\n53/udp -> 127.0.0.1:53"},
		{"80", "127.0.0.1:8000"},
		{"53/udp", "127.0.0.1:53"},
		{"80-81/tcp", "127.0.0.1:8000\n127.0.0.1:8001"},
	} {
		var of []single.Exposed
		if tc.of != "" {
			var err error
			if of, err = single.ParseExposed(tc.of); err != nil {
				t.Fatal(err)
			}
		}

		lines, err := portLines(all[1], of)
		if got := strings.Join(lines, "\n"); err != nil || got != tc.want {
			t.Errorf("%q: %q, %v", tc.of, got, err)
		}
	}

	of, _ := single.ParseExposed("8080")
	if _, err := portLines(all[1], of); err == nil || err.Error() != "no public port '8080/tcp' published for web" {
		t.Error(err)
	}
	if lines, err := portLines(all[2], nil); err != nil || lines != nil {
		t.Errorf("of one that has ended: %q, %v", lines, err)
	}
}

// looks gives samples, one set after the other.
type looks [][]single.Sample

func (l *looks) Samples(context.Context, ...string) ([]single.Sample, error) {
	if len(*l) == 0 {
		return nil, errors.New("no more")
	}
	next := (*l)[0]
	*l = (*l)[1:]
	return next, nil
}

// TestStats prints what was used between two looks, in Docker's columns.
func TestStats(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	web := single.Sample{
		ID: strings.Repeat("b", 64), Name: "web", At: at, CPU: time.Second, Memory: 10 << 20, Limit: 40 << 20, Processes: 7,
		Read: 1500, Written: 2_000_000, Received: 0, Sent: 12,
	}
	later := web
	later.At, later.CPU = at.Add(2*time.Second), 4*time.Second
	ended := single.Sample{ID: strings.Repeat("c", 64), Name: "job"}

	var out bytes.Buffer
	o := statsOptions{once: true}
	err := o.watch(t.Context(), invoke.Env{Out: &out, Terminal: true}, &looks{{web, ended}, {later, ended}}, nil)
	want := `CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT   MEM %     NET I/O    BLOCK I/O     PIDS
bbbbbbbbbbbb   web       150.00%   10MiB / 40MiB       25.00%    0B / 12B   1.5kB / 2MB   7
cccccccccccc   job       --        -- / --             --        --         --            --
`

	if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}

	out.Reset()
	if o.format, err = dockerout.Parse("{{.Name}} {{.CPUPerc}}", ""); err != nil {
		t.Fatal(err)
	}
	if err := o.show(invoke.Env{Out: &out}, nil, []single.Sample{later}); err != nil || out.String() != "web 0.00%\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

// TestWaitingStatus lists a container that waits to begin anew among those that run, in Docker's words.
func TestWaitingStatus(t *testing.T) {
	now := time.Now()
	job := containersAt(now)[2]
	job.Waits = true
	if got := (listOptions{last: -1}).shown([]single.Container{job}); len(got) != 1 {
		t.Error("it is not among those that run")
	}
	if got := statusOf(job, now); got != "Restarting (3221225477) 2 days ago" {
		t.Errorf("its status is %q", got)
	}

	if s := inspect(job).State; s.Status != "restarting" || !s.Restarting || !s.Running {
		t.Errorf("inspect: %+v", s)
	}

	for filter, want := range map[string]int{"status=restarting": 1, "status=exited": 0} {
		f, err := parseFilters([]string{filter})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.chosen([]single.Container{job}); len(got) != want || err != nil {
			t.Errorf("%s: %d containers, %v", filter, len(got), err)
		}
	}
}
