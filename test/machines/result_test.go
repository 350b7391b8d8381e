package machines_test

import (
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/test/machines"
	"mullion.dev/mullion/test/machines/guest"
)

func TestPageAndJUnit(t *testing.T) {
	m, err := guest.Find("bookworm")
	if err != nil {
		t.Fatal(err)
	}

	r := machines.Result{
		Machine:   m,
		Kernel:    "6.1.0-50-cloud-amd64",
		Date:      "2026-01-02",
		Commit:    "abc",
		UpSeconds: 270,
	}
	r.Add("up", true, 270*time.Second)
	r.Add("reboot", false, time.Minute)
	var page, junit strings.Builder
	if err := machines.WritePage(&page, []machines.Result{r}); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		"| bookworm | 6.1.0-50-cloud-amd64 |  | 1 of 2 | 270 s | reboot | 2026-01-02, abc |\n",
		"| trixie-hardened | | firewalld | not tried whole yet | | | |\n",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}

	if err := r.WriteJUnit(&junit); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		`<testsuite name="bookworm" tests="2" failures="1">`,
		`<testcase name="up" time="270"></testcase>`, `<failure></failure>`,
	} {
		if !strings.Contains(junit.String(), want) {
			t.Errorf("JUnit lacks %q:\n%s", want, junit.String())
		}
	}

	if _, err := guest.Find("nowhere"); err == nil || !strings.Contains(err.Error(), "bookworm-hardened") {
		t.Errorf("a machine that is not there: %v", err)
	}
}

func TestHalves(t *testing.T) {
	m, err := guest.Find("trixie")
	if err != nil {
		t.Fatal(err)
	}

	half := func(commit string, steps ...string) machines.Result {
		r := machines.Result{
			Machine:   m,
			Kernel:    "6.12",
			Date:      "2026-01-02",
			Commit:    commit,
			UpSeconds: 100,
		}

		for _, s := range steps {
			name, failed := strings.CutSuffix(s, "!")
			r.Add(name, !failed, time.Second)
		}

		return r
	}

	for _, tt := range []struct {
		kept []machines.Result
		want string
	}{
		{nil, "| 3 of 3 |"},
		{[]machines.Result{half("other", "up", "net-test", "down")}, "| 3 of 3 |"},
		{[]machines.Result{half("abc", "up", "net-test", "down")}, "| 4 of 4, on two guests |"},
		{[]machines.Result{half("abc", "up", "net-test!", "down!")}, "| 2 of 4, on two guests |"},
	} {
		r := half("abc", "up", "reboot", "down")
		r.Join(tt.kept)
		var page strings.Builder
		if err := machines.WritePage(&page, []machines.Result{r}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), "| trixie | 6.12 |  "+tt.want) {
			t.Errorf("a half joined to %+v lacks %q:\n%s", tt.kept, tt.want, page.String())
		}
	}
}
