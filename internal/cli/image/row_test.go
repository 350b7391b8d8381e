package image

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/single"
)

// someImages returns images with two tags, with a digest alone, and without a name.
func someImages(now time.Time) []image.Info {
	made := func(ago time.Duration) ocispec.Image {
		at := now.Add(-ago)
		return ocispec.Image{Created: &at}
	}
	id := func(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }
	list := []image.Info{
		{
			ID: id("a"), RepoTags: []string{"docker.io/library/app:v1", "registry.example:5000/team/app:v2"},
			RepoDigests: []string{"docker.io/library/app@" + id("1")}, OSVersion: "10.0.20348.2762", Size: 98_760_000,
			Spec: made(3 * time.Hour),
		},
		{ID: id("b"), RepoDigests: []string{"registry.example/db@" + id("2")}, Size: 5, Spec: made(50 * time.Hour)},
		{ID: id("c"), Size: 1500},
	}
	list[0].Config.Labels = map[string]string{"team": "web", "x": ""}
	return list
}

// TestListByFormat prints what scripts read of `docker images`.
func TestListByFormat(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	digits := func(digit string) string { return strings.Repeat(digit, 12) }
	a, b := digits("a"), digits("b")
	c := digits("c")
	for _, tc := range []struct {
		o        listOptions
		template string
		filters  []string
		want     string
	}{
		{o: listOptions{quiet: true}, want: a + "\n" + a + "\n" + b + "\n" + c + "\n"},
		{o: listOptions{quiet: true}, filters: []string{"dangling=true"}, want: c + "\n"},
		{o: listOptions{quiet: true}, filters: []string{"dangling=false", "label=team=web"}, want: a + "\n" + a + "\n"},
		{o: listOptions{quiet: true}, filters: []string{"label=team=db"}},
		{o: listOptions{quiet: true}, filters: []string{"label=x", "label=none"}},
		{o: listOptions{quiet: true}, filters: []string{"before=app:v1"}, want: b + "\n" + c + "\n"},
		{o: listOptions{quiet: true}, filters: []string{"since=bbbb"}, want: a + "\n" + a + "\n"},
		{o: listOptions{quiet: true}, filters: []string{"reference=*/team/*:v2", "reference=registry.example/db"}, want: a + "\n" + a + "\n" + b + "\n"},
		{o: listOptions{quiet: true, name: "app"}, want: a + "\n" + a + "\n"},
		{o: listOptions{quiet: true, name: "app:v2"}},
		{o: listOptions{quiet: true, whole: true}, filters: []string{"reference=registry.example/db"}, want: "sha256:" + strings.Repeat("b", 64) + "\n"},
		{template: "{{.Repository}}:{{.Tag}}", want: "app:v1\nregistry.example:5000/team/app:v2\nregistry.example/db:<none>\n<none>:<none>\n"},
		{
			template: `table {{.Repository}}\t{{.Size}}\t{{.CreatedSince}}`, filters: []string{"dangling=0"},
			want: "REPOSITORY                       SIZE      CREATED\n" +
				"app                              98.8MB    3 hours ago\n" +
				"registry.example:5000/team/app   98.8MB    3 hours ago\n" +
				"registry.example/db              5B        2 days ago\n",
		},
		{
			template: "json", filters: []string{"dangling=1"},
			want: `{"CreatedAt":"N/A","CreatedSince":"N/A","Digest":"<none>","ID":"` + c +
				`","Repository":"<none>","Size":"1.5kB","Tag":"<none>","OSVersion":""}` + "\n",
		},
	} {
		var out bytes.Buffer
		list := someImages(now)
		var err error
		if tc.o.fits, err = filterOf(tc.filters, list); err != nil {
			t.Fatal(err)
		}
		if tc.o.format, err = dockerout.Parse(tc.template, ""); err != nil {
			t.Fatal(err)
		}
		err = tc.o.print(invoke.Env{Out: &out}, list, now)
		if diff := cmp.Diff(tc.want, out.String()); err != nil || diff != "" {
			t.Errorf("%+v %q %v: %v\n%s", tc.o, tc.template, tc.filters, err, diff)
		}
	}

	for wrong, code := range map[string]int{
		"dangling": exit.Usage, "dangling=maybe": exit.Usage, "size=1": exit.Usage,
		"before=none": exit.NotFound, "since=none": exit.NotFound,
	} {
		if _, err := filterOf([]string{wrong}, someImages(now)); exit.Code(err) != code {
			t.Errorf("--filter %s: exit code %d, want %d", wrong, exit.Code(err), code)
		}
	}
}

// TestRowOfDigests: of an image that several repositories have by digests alone, the row is of the same one each time.
func TestRowOfDigests(t *testing.T) {
	var i image.Info
	for _, name := range []string{"f", "c", "b", "e", "d"} {
		i.RepoDigests = append(i.RepoDigests, "registry.example/"+name+"@sha256:"+strings.Repeat(name, 64))
	}
	for range 50 {
		rows := listOptions{}.rows(i, time.Now())
		if len(rows) != 1 || rows[0].Repository != "registry.example/b" || rows[0].Digest != "sha256:"+strings.Repeat("b", 64) {
			t.Fatalf("%+v", rows)
		}
	}
}

// TestFound: an image is meant by its reference, by a digest, and by the beginning of its ID that is long enough.
func TestFound(t *testing.T) {
	list := someImages(time.Now())
	for text, want := range map[string]int{
		"app:v1": 1, "docker.io/library/app:v1": 1, "app": 0, "app:v2": 0, "registry.example:5000/team/app:v2": 1,
		"aaaa": 1, "aaa": 0, "sha256:cccc": 1, "d": 0, "": 0, "registry.example/db@sha256:" + strings.Repeat("2", 64): 1,
	} {
		if got := found(list, text); len(got) != want {
			t.Errorf("%q names %d images, want %d", text, len(got), want)
		}
	}
}

// TestHistory prints the steps of an image, the last one first; what its maker has written draws nothing.
func TestHistory(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	i := someImages(now)[0]
	at := now.Add(-2 * time.Hour)
	i.Spec.History = []ocispec.History{
		{CreatedBy: "COPY app.exe C:\\app\\", Created: &at},
		{CreatedBy: "RUN " + strings.Repeat("x", 60), Comment: "a\x1b[2Jb"},
	}

	var out bytes.Buffer
	a := looks{&commands{newMachine(t).Reader(invoke.Env{Out: &out})}}
	if err := a.printHistory(i, false, false, now); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || strings.Join(strings.Fields(lines[0]), " ") != "IMAGE CREATED CREATED BY COMMENT" ||
		!strings.HasPrefix(lines[1], strings.Repeat("a", 12)+"   N/A           RUN "+strings.Repeat("x", 40)+"…") ||
		!strings.HasPrefix(lines[2], "<missing>      2 hours ago   COPY app.exe") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%s", &out)
	}
}

// TestPrunable: images of other labels, and those that are too new, stay.
func TestPrunable(t *testing.T) {
	now := time.Now()
	for filter, want := range map[string]string{
		"until=24h": "bc", // what does not say when it was made is old
		"until=" + strconv.FormatInt(now.Add(-24*time.Hour).Unix(), 10): "bc",
		"until=" + now.AddDate(0, 0, -10).Format(time.DateOnly):         "c",
		"label=team=web":  "a",
		"label!=team":     "bc",
		"label!=team=web": "bc",
		"label!=team=db":  "abc",
	} {
		fits, err := prunable([]string{filter}, now)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		var got string
		for _, i := range someImages(now) {
			if fits(i) {
				got += i.ID[7:8]
			}
		}
		if got != want {
			t.Errorf("%s: removed are %q, want %q", filter, got, want)
		}
	}

	for _, wrong := range []string{"until=then", "name=a", "dangling", "until=", "label="} {
		if _, err := prunable([]string{wrong}, now); err == nil {
			t.Errorf("--filter %s is taken", wrong)
		}
	}
}

// TestImageCommandsRefuse: what Docker's flags ask for and what is not here is refused with what to do.
func TestImageCommandsRefuse(t *testing.T) {
	m := newMachine(t)
	for _, tc := range []struct {
		args, said string
		code       int
	}{
		{"ls", "mullion: no cluster in \"DATA\"\n→ `--run` is for the images of single containers, those of", 6},
		{"tag a b", "mullion: no cluster in \"DATA\"\n→ `--run` is for the images of single containers, those of", 6},
		{"prune -f", "mullion: a cluster's images are removed by its kubelets, when the disk fills\n→ --run is for", 2},
		{"ls a b", "mullion: `mullion image ls` takes at most one name, got 2", 2},
		{"ls --format {{.None", "mullion: --format: ", 2},
		{"ls --format json -o json", "mullion: --format and -o json are two forms", 2},
		{"inspect", "mullion: `mullion image inspect` takes at least one IMAGE, got none", 2},
		{"history", "mullion: `mullion image history` takes IMAGE, got 0", 2},
		{"save a b", "mullion: `mullion image save` takes one REFERENCE, got 2", 2},
		{"load", "mullion: `mullion image load` takes FILE, got 0", 2},
		{"load -i a.tar b.tar", "mullion: \"b.tar\" and --input \"a.tar\" are two archives", 2},
		{"load -i /nowhere.tar --run", "mullion: load images: open /nowhere.tar: no such file", 2},
		{"pull --run --platform linux/amd64 a", "mullion: --platform linux/amd64: single containers are of Windows\n→ `docker pull`", 2},
		{"pull --platform windows/amd64 a", "mullion: --platform is for --run", 2},
		{"ls --digests", "mullion: unknown flag: --digests\n→ each digest is a line", 2},
		{"build --cache-from a .", "mullion: unknown flag: --cache-from\n→ earlier builds", 2},
	} {
		got := m.Run(append([]string{"image"}, strings.Fields(tc.args)...)...)
		if got.Code != tc.code || !strings.HasPrefix(got.Err, tc.said) {
			t.Errorf("%s: exit code %d, %s%s", tc.args, got.Code, got.Out, got.Err)
		}
	}
}

// TestRemoveEach: an image that the engine refuses to remove, the first too, does not keep the next one.
func TestRemoveEach(t *testing.T) {
	var out bytes.Buffer
	var asked []string
	err := removeEach(invoke.Env{Out: &out, Err: &out}, []string{"used", "free"}, false, func(ref string) error {
		asked = append(asked, ref)
		if ref == "used" {
			return engine.Refused(&single.Refusal{Code: 1, Message: "conflict"})
		}
		return nil
	})
	if len(asked) != 2 || exit.Code(err) != 1 || !strings.Contains(out.String(), "conflict") {
		t.Errorf("asked %q: %v\n%s", asked, err, out.String())
	}
}

// TestAllFit: an index is removed as one, and so none of its builds may be one that is to be kept.
func TestAllFit(t *testing.T) {
	fits, err := prunable([]string{"label!=keep"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	build := func(index string, labels map[string]string) (i image.Info) {
		i.Target.Digest, i.Config.Labels = digest.Digest(index), labels
		return i
	}
	keep, other := build("sha256:aa", map[string]string{"keep": ""}), build("sha256:aa", nil)
	alone := build("sha256:bb", nil)
	builds := []image.Info{keep, other, alone}
	for i, want := range map[*image.Info]bool{&keep: false, &other: false, &alone: true} {
		if got := allFit(*i, builds, fits); got != want {
			t.Errorf("%+v is removed: %v", i.Config.Labels, got)
		}
	}
}

// TestUsedBy: the image that a container was made of is used, and not the one that has its name by now: it begins anew
// with its own. Where none is noted, the name tells.
func TestUsedBy(t *testing.T) {
	list := someImages(time.Now())
	app, old := list[0].ID, list[2].ID
	for _, tc := range []struct {
		c    single.Container
		want []string
	}{
		{single.Container{Run: single.Run{Image: "app:v1"}}, []string{app}},
		{single.Container{Run: single.Run{Image: "app:v1"}, ImageID: old}, []string{old}},
		{single.Container{Run: single.Run{Image: "app:v1", Keep: true}, ImageID: old}, []string{old}},
		{single.Container{Run: single.Run{Image: "app:v1", Keep: true}, ImageID: app}, []string{app}},
		{single.Container{Run: single.Run{Image: "gone"}}, nil},
	} {
		got := slices.Sorted(maps.Keys(usedBy(list, []single.Container{tc.c})))
		if !slices.Equal(got, tc.want) {
			t.Errorf("%+v uses %q, want %q", tc.c.Run, got, tc.want)
		}
	}
}

// TestPruneEach: an image that a container has meanwhile is skipped. Any other refusal is said and fails the command,
// but keeps no other image from being removed; an engine that does not answer is not asked again.
func TestPruneEach(t *testing.T) {
	list := someImages(time.Now())
	conflict := &single.Refusal{
		Code:     1,
		Message:  "conflict",
		Conflict: true,
	}
	full := &single.Refusal{Code: single.CodeFailed, Message: "no space left"}
	lost := errors.New("the engine is gone")
	for _, tc := range []struct {
		first      error
		code, gone int
		said       string
	}{
		{nil, 0, 3, ""},
		{conflict, 0, 2, ""},
		{errdefs.ErrNotFound, 0, 2, ""},
		{full, single.CodeFailed, 2, "mullion: no space left\n"},
		{lost, exit.Code(lost), 0, ""},
	} {
		var out, said bytes.Buffer
		err := pruneEach(invoke.Env{Out: &out, Err: &said}, list, func(id string) error {
			if id == list[0].ID {
				return tc.first
			}
			return nil
		})
		gone := strings.Count(out.String(), "deleted: ")
		if exit.Code(err) != tc.code || gone != tc.gone || said.String() != tc.said ||
			!strings.Contains(out.String(), "Total reclaimed space: ") {
			t.Errorf("%v: exit code %d, %v\n%s%s", tc.first, exit.Code(err), err, &out, &said)
		}
	}
}
