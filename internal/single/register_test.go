package single

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/internal/base/rotate"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/windows/winver"
)

// opened returns the register of a folder.
func opened(t *testing.T, p Paths) *register {
	t.Helper()
	r, err := openRegister(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// aRoom returns a room of the usual Windows, of which nothing is used but its name.
func aRoom() *room { return &room{build: winver.Build{Name: winver.Default()}} }

// begun returns a container whose program runs, with a log.
func begun(t *testing.T, r *register, id string, ask Run) *container {
	t.Helper()
	k := &container{
		room:  aRoom(),
		id:    id,
		ask:   ask,
		begun: make(chan struct{}),
		over:  make(chan struct{}),
	}

	k.inherited.Args = []string{"cmd", "/c", "x"}
	for _, e := range k.config().GetEnvs() {
		k.inherited.Env = append(k.inherited.Env, e.GetKey()+"="+string(e.GetValue()))
	}

	if err := errors.Join(r.add(k), r.begun(k)); err != nil {
		t.Fatal(err)
	}
	close(k.begun)
	writeLog(t, r.paths.containerLog(id), "said\n")
	return k
}

func writeLog(t *testing.T, path, text string) {
	t.Helper()
	f, err := rotate.Open(path, mostOfLog)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// states returns the containers by name, with their states and exit codes.
func states(r *register) map[string]string {
	out := map[string]string{}
	for _, c := range r.list() {
		out[c.Name] = fmt.Sprintf("%s %d", c.State(), c.End.Code)
	}
	return out
}

func logs(t *testing.T, p Paths) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(p.containerLogs())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestRegisterKilled: of an engine that was killed, containers are either ended and kept, or gone with all they had.
func TestRegisterKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	p := At(t.TempDir(), "/nowhere")
	r := opened(t, p)
	kept := Run{Keep: true}
	begun(t, r, "1", Run{
		Keep:  true,
		Name:  "ran",
		Once:  true,
		Image: "mullion.local/run:a",
	})

	begun(t, r, "2", Run{
		Name:  "ran-rm",
		Once:  true,
		Image: "mullion.local/run:b",
	})
	ended := begun(t, r, "3", Run{Keep: true, Name: "ended"})
	if err := r.over(ended, End{Code: 7}, ""); err != nil {
		t.Fatal(err)
	}

	kept.Name = "made"
	if err := r.add(&container{id: "4", ask: kept}); err != nil {
		t.Fatal(err)
	}
	writeLog(t, p.containerLog("5"), "nobody's\n")
	writeLog(t, p.containerLog("5")+".1", "nobody's\n")
	writeLog(t, p.containerLog("1")+".2", "older\n")

	// What a kill in the middle of writing leaves.
	if err := os.WriteFile(filepath.Join(p.records(), ".6.json.new"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the next engine changes nothing more
		r = opened(t, p)
		want := map[string]string{"ran": "exited 255", "ended": "exited 7"}
		if diff := cmp.Diff(want, states(r)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"1.log", "1.log.2", "3.log"}, logs(t, p)); diff != "" {
			t.Error(diff)
		}

		if len(r.live) != 0 {
			t.Errorf("%d live", len(r.live))
		}
	}

	if c, k, err := r.find("ran"); err != nil || k != nil || !strings.Contains(c.Why, "killed") {
		t.Errorf("%+v, %v, %v", c, k, err)
	}
	if entries, _ := os.ReadDir(p.records()); len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}

	for _, name := range []string{
		p.records(), filepath.Join(p.records(), "1.json"), p.containerLogs(), p.containerLog("1"),
	} {
		if info, err := os.Stat(name); err != nil || info.Mode()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestRegisterLeft has the images that were made for one run, of containers that were killed with their engine.
func TestRegisterLeft(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	p := At(t.TempDir(), "/nowhere")
	r := opened(t, p)
	begun(t, r, "1", Run{
		Keep:  true,
		Once:  true,
		Image: "a",
	})
	begun(t, r, "2", Run{Once: true, Image: "b"})
	begun(t, r, "3", Run{Image: "c"})
	if diff := cmp.Diff([]string{"a", "b"}, opened(t, p).left); diff != "" {
		t.Error(diff)
	}

	if left := opened(t, p).left; len(left) > 0 {
		t.Errorf("once more: %v", left)
	}
}

// TestNames: a name is one container's, from the moment it is asked for until it is gone.
func TestNames(t *testing.T) {
	r := opened(t, At(t.TempDir(), "/nowhere"))
	add := func(id, name string) error { return r.add(&container{id: id, ask: Run{Name: name, Keep: true}}) }
	if err := add("11", "web"); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"web", "/web"} {
		err := add("22", name)
		refusal, ok := errors.AsType[*Refusal](err)
		const want = `Conflict. The container name "/web" is already in use by container "11". You have to remove that ` +
			`container to be able to reuse that name.`
		if !ok || refusal.Code != 125 || refusal.Message != want {
			t.Errorf("%q: %v", name, err)
		}
	}

	if _, _, err := r.find("22"); err == nil {
		t.Error("a container that was refused is known")
	}
	if err := errors.Join(r.over(r.live["11"], End{}, ""), add("22", "web")); err != nil {
		t.Errorf("the name of one that never ran: %v", err)
	}
	if err := errors.Join(add("33", ""), add("44", "")); err != nil {
		t.Error(err)
	}

	if len(states(r)) != 3 {
		t.Errorf("names that are made up: %v", states(r))
	}
}

// TestOver: at its end a container is kept or goes, and of those kept only so many are.
func TestOver(t *testing.T) {
	p := At(t.TempDir(), "/nowhere")
	r := opened(t, p)
	r.most = 3
	for i := range r.most {
		ended := time.Unix(int64(i), 0)
		c := Container{
			ID:       fmt.Sprintf("%04d", i),
			Name:     fmt.Sprintf("job-%d", i),
			Created:  ended,
			Finished: ended,
		}

		if err := r.known.Put(c.ID, c); err != nil {
			t.Fatal(err)
		}
		writeLog(t, p.containerLog(c.ID), "said\n")
	}

	if err := r.over(begun(t, r, "new", Run{Keep: true, Name: "new"}), End{Code: 3}, "why"); err != nil {
		t.Fatal(err)
	}
	if n := len(r.list()); n != r.most {
		t.Errorf("%d are kept", n)
	}

	newest := r.list()[0]
	if newest.Name != "new" || newest.Finished.Before(newest.Started) || newest.End.Code != 3 || newest.Why != "why" {
		t.Errorf("the newest is %+v", newest)
	}
	if _, _, err := r.find("job-0"); err == nil {
		t.Error("the oldest is kept")
	}

	if err := r.over(begun(t, r, "rm", Run{Name: "goes"}), End{}, ""); err != nil {
		t.Error(err)
	}
	if _, _, err := r.find("goes"); err == nil {
		t.Error("one that is not to be kept is")
	}
	running := begun(t, r, "run", Run{Name: "runs"})

	gone, freed, err := r.prune(Pruned{})
	if err != nil || len(gone) != r.most || freed != int64(r.most*len("said\n")) {
		t.Errorf("%d pruned, %d bytes, %v", len(gone), freed, err)
	}
	if diff := cmp.Diff(map[string]string{"runs": "running 0"}, states(r)); diff != "" {
		t.Error(diff)
	}

	if diff := cmp.Diff([]string{"run.log"}, logs(t, p)); diff != "" {
		t.Error(diff)
	}
	if _, k, err := r.find("runs"); k != running || err != nil {
		t.Errorf("%v, %v", k, err)
	}
}

// TestRegisterDamaged: what nobody can read is said, and not dropped.
func TestRegisterDamaged(t *testing.T) {
	p := At(t.TempDir(), "/nowhere")
	r := opened(t, p)
	begun(t, r, "1", Run{Keep: true})
	file := filepath.Join(p.records(), "1.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openRegister(p); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if names := (&Client{Paths: p}).Names(); len(names) > 0 {
		t.Errorf("names: %v", names)
	}
}

// TestCompletedNames are read without an engine.
func TestCompletedNames(t *testing.T) {
	p := At(t.TempDir(), "/nowhere")
	c := &Client{Paths: p}
	if names := c.Names(); len(names) > 0 {
		t.Errorf("of nothing: %v", names)
	}
	if _, err := os.Stat(p.records()); !os.IsNotExist(err) {
		t.Errorf("to complete makes a folder: %v", err)
	}

	r := opened(t, p)
	begun(t, r, "1", Run{Keep: true, Name: "runs"})
	if err := r.over(begun(t, r, "2", Run{Keep: true, Name: "ended"}), End{}, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"runs", "ended"}, c.Names()); diff != "" {
		t.Error(diff)
	}

	if diff := cmp.Diff([]string{"runs"}, c.Names(Running)); diff != "" {
		t.Error(diff)
	}
}

// TestNotWritten: on a full disk the end of a container is known all the same, and one that could not be noted at all
// is forgotten at once.
func TestNotWritten(t *testing.T) {
	s := served(t)
	r := s.register
	job := begun(t, r, "aa11", Run{Keep: true, Name: "job"})
	if err := os.RemoveAll(r.paths.records()); err != nil { // nothing can be written there
		t.Fatal(err)
	}

	if err := r.over(job, End{Code: 7}, "why"); err == nil || !strings.Contains(err.Error(), `container "job"`) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(map[string]string{"job": "exited 7"}, states(r)); diff != "" {
		t.Error(diff)
	}
	if e := asked(t, s, `{"Wait":"job"}`); len(e) != 1 || e[0].Ended == nil || e[0].Ended.Code != 7 {
		t.Errorf("wait: %+v", e)
	}

	if err := r.add(&container{id: "bb22", ask: Run{Name: "late"}}); err == nil {
		t.Error("what cannot be noted is begun")
	}
	if _, _, err := r.find("late"); err == nil || len(r.live) > 0 {
		t.Errorf("%v; live: %v", err, r.live)
	}
}

// TestWaitUnknown: for a container whose end nobody knows, wait does not say 0.
func TestWaitUnknown(t *testing.T) {
	s := served(t)
	lost := Container{
		ID:      "aa11",
		Name:    "lost",
		Created: time.Now(),
		Started: time.Now(),
	}

	if err := s.register.known.Put(lost.ID, lost); err != nil {
		t.Fatal(err)
	}
	want := Refusal{Code: 1, Message: "container aa11 has ended, and how is not known"}
	if got := refused(t, s, `{"Wait":"lost"}`); got != want {
		t.Errorf("%+v", got)
	}

	unmade := &container{
		id:    "bb22",
		ask:   Run{Name: "unmade"},
		begun: make(chan struct{}),
		over:  make(chan struct{}),
	}
	if err := s.register.add(unmade); err != nil {
		t.Fatal(err)
	}

	close(unmade.over)
	want = Refusal{Code: 1, Message: "container bb22 has ended before its program ran"}
	if got := refused(t, s, `{"Wait":"unmade"}`); got != want {
		t.Errorf("%+v", got)
	}
}

// TestBeginAnew: what is known of a container that has ended stays as it is until it runs again.
func TestBeginAnew(t *testing.T) {
	p := At(t.TempDir(), "/nowhere")
	r := opened(t, p)
	ask := Run{
		Keep:     true,
		Name:     "web",
		Pull:     PullAlways,
		Streams:  "s1",
		Terminal: true,
		Columns:  80,
		Rows:     25,
	}

	if err := r.over(begun(t, r, "1", ask), End{Code: 3}, "why"); err != nil {
		t.Fatal(err)
	}
	before, _ := r.get("1")

	again, err := askedAgain(before)
	if err != nil || again.Pull != PullMissing || !again.Detach ||
		again.Streams != "" || again.Columns != 0 || !again.Terminal {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := askedAgain(Container{Run: Run{Once: true}}); err == nil {
		t.Error("an image that is gone is run again")
	}

	anew := func() *container {
		t.Helper()
		k := &container{
			room:  aRoom(),
			id:    "1",
			ask:   again,
			begun: make(chan struct{}),
			over:  make(chan struct{}),
		}

		if err := r.again(k); err != nil {
			t.Fatal(err)
		}
		return k
	}

	k := anew()
	if k.name != "web" {
		t.Errorf("it is called %q", k.name)
	}
	if err := r.again(&container{id: "1", ask: again}); err == nil {
		t.Error("it begins twice at a time")
	}

	if gone, _, err := r.prune(Pruned{}); err != nil || len(gone) > 0 {
		t.Errorf("what begins is pruned: %v, %v", gone, err)
	}
	if err := r.over(k, End{}, "it did not start"); err != nil {
		t.Fatal(err)
	}

	after, _ := r.get("1")
	if diff := cmp.Diff(before, after, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("one that has not begun:\n%s", diff)
	}

	k = anew()
	if err := r.begun(k); err != nil {
		t.Fatal(err)
	}
	if c, _ := r.get("1"); c.State() != Running || c.Why != "" || c.End != (End{}) || !c.Created.Equal(before.Created) {
		t.Errorf("%+v", c)
	}

	if err := r.over(k, End{Code: 4}, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"web": "exited 4"}, states(opened(t, p))); diff != "" {
		t.Error(diff)
	}
	if err := r.again(&container{id: "2"}); err == nil {
		t.Error("one that is not there begins anew")
	}
}

// TestRename: the new name is on disk, the old one free.
func TestRename(t *testing.T) {
	p := At(t.TempDir(), "/nowhere")
	r := opened(t, p)
	begun(t, r, "1", Run{Keep: true, Name: "web"})
	if err := r.rename("1", "old"); err != nil {
		t.Fatal(err)
	}
	begun(t, r, "2", Run{Keep: true, Name: "web"})
	if err := r.rename("1", "web"); err == nil || !strings.Contains(err.Error(), `already in use by container "2"`) {
		t.Errorf("a name that is taken: %v", err)
	}
	if diff := cmp.Diff(map[string]string{"old": "exited 255", "web": "exited 255"}, states(opened(t, p))); diff != "" {
		t.Error(diff)
	}
}

// TestSecretsAreNotKept: no file of a container has its secrets.
func TestSecretsAreNotKept(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	p := At(t.TempDir(), "")
	r := opened(t, p)
	k := begun(t, r, "0123456789abcdef", Run{
		Image:   "a:b",
		Env:     []string{"A=1"},
		Secrets: []string{"B=s3cr3t"},
	})

	if got := k.config().GetEnvs(); len(got) != 2 || string(got[1].GetValue()) != "s3cr3t" {
		t.Errorf("%v", got)
	}
	if c, _ := r.get(k.id); !slices.Equal(c.Env, []string{"A=1"}) {
		t.Errorf("variables %v", c.Env)
	}

	err := filepath.WalkDir(p.Data, func(at string, e os.DirEntry, err error) error {
		if text, readErr := os.ReadFile(at); readErr == nil && strings.Contains(string(text), "s3cr3t") {
			t.Errorf("%s: %s", at, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPrunedFits: those made before a time, with all of some labels, and with none of others.
func TestPrunedFits(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := Container{Created: at, Labels: map[string]string{"team": "web", "a": ""}}
	for _, tc := range []struct {
		which Pruned
		want  bool
	}{
		{Pruned{}, true},
		{Pruned{Until: at.Add(time.Second)}, true},
		{Pruned{Until: at}, false},
		{Pruned{Labels: []string{"team", "a"}}, true},
		{Pruned{Labels: []string{"team=web", "b"}}, false},
		{Pruned{NotLabels: []string{"team=db"}}, true},
		{Pruned{NotLabels: []string{"b", "a"}}, false},
	} {
		if got := tc.which.fits(c); got != tc.want {
			t.Errorf("%+v: %v", tc.which, got)
		}
	}
}
