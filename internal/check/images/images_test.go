package images_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/images"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

// serve makes a registry on loopback of a handler and gives its host and port.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// realRegistry has app:1 for two Windows builds and Linux, app:linux, app:2019 (no index) and app:bare, whose index
// names no platforms.
func realRegistry(t *testing.T) string {
	t.Helper()
	host := serve(t, registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError))))
	write := func(tag string, what remote.Taggable) {
		ref, err := name.NewTag(host + "/app:" + tag)
		if err != nil {
			t.Fatal(err)
		}

		switch what := what.(type) {
		case v1.Image:
			err = remote.Write(ref, what)
		case v1.ImageIndex:
			err = remote.WriteIndex(ref, what)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("1", index(t, true, "windows/amd64:10.0.17763.6414", "windows/amd64:10.0.20348.2762", "linux/amd64",
		"unknown/unknown"))
	write("bare", index(t, false, "windows/amd64:10.0.20348.2762", "linux/arm64"))
	write("linux", index(t, true, "linux/amd64", "linux/arm64"))
	write("2019", image(t, v1.Platform{
		OS:           "windows",
		Architecture: "amd64",
		OSVersion:    "10.0.17763.6414",
	}))

	return host
}

func image(t *testing.T, p v1.Platform) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS:           p.OS,
		Architecture: p.Architecture,
		OSVersion:    p.OSVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// index makes an index whose entries say their platforms, or do not.
func index(t *testing.T, said bool, platforms ...string) v1.ImageIndex {
	t.Helper()
	idx := v1.ImageIndex(empty.Index)
	for _, text := range platforms {
		p, err := v1.ParsePlatform(text)
		if err != nil {
			t.Fatal(err)
		}
		add := mutate.IndexAddendum{Add: image(t, *p)}
		if said {
			add.Platform = p
		}
		idx = mutate.AppendManifests(idx, add)
	}

	return idx
}

func finder(t *testing.T, o images.Options) *images.Finder {
	t.Helper()
	f, err := images.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func texts(ps []check.Platform) (out []string) {
	for _, p := range ps {
		out = append(out, p.String())
	}
	slices.Sort(out)
	return out
}

func TestRegistry(t *testing.T) {
	host := realRegistry(t)
	f := finder(t, images.Options{Keychain: authn.NewMultiKeychain()})
	for ref, want := range map[string][]string{
		"/app:1":     {"linux/amd64", "windows/amd64 10.0.17763.6414", "windows/amd64 10.0.20348.2762"},
		"/app:bare":  {"linux/arm64", "windows/amd64 10.0.20348.2762"},
		"/app:linux": {"linux/amd64", "linux/arm64"},
		"/app:2019":  {"windows/amd64 10.0.17763.6414"},
	} {
		got, err := f.Platforms(t.Context(), host+ref)
		if diff := cmp.Diff(want, texts(got)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", ref, err, diff)
		}
	}

	offline := finder(t, images.Options{Offline: true})
	if got, err := offline.Platforms(t.Context(), host+"/app:1"); got != nil || err != nil {
		t.Errorf("offline: %v, %v", got, err)
	}
}

// answers is a registry of fixed texts, by the end of the path; what begins with "→" is a redirect.
type answers map[string]string

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v2/" {
		return
	}

	for end, text := range a {
		if strings.HasSuffix(r.URL.Path, end) {
			if to, ok := strings.CutPrefix(text, "→"); ok {
				http.Redirect(w, r, to, http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
			_, _ = io.WriteString(w, text)
			return
		}
	}

	http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`, http.StatusNotFound)
}

// put stores a text by its digest, which it gives.
func (a answers) put(text string) string {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
	a[digest] = text
	return digest
}

func listOf(digests ...string) string {
	var entries []map[string]any
	for _, d := range digests {
		entries = append(entries, map[string]any{
			"mediaType": "application/vnd.oci.image.index.v1+json", "size": 1,
			"digest": d,
		})
	}
	text, _ := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": entries})
	return string(text)
}

func TestHostileRegistry(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	a := answers{}
	zero := "sha256:" + strings.Repeat("0", 64)
	a["/manifests/huge"] = `{"manifests":[` + strings.Repeat(" ", 9<<20)
	a["/manifests/text"] = "<html>"
	a["/manifests/other"] = `{"schemaVersion":1,"fsLayers":[]}`
	a["/manifests/digest"] = listOf("nonsense")
	a["/manifests/redirects"] = "→/v2/app/manifests/redirects"
	a[zero] = "something else"
	a["/manifests/wrong"] = listOf(zero)
	a["/manifests/wrongconfig"] = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"size":2,"digest":"` + zero + `"}}`
	var leaves []string
	for i := range 60 {
		leaves = append(leaves, a.put(fmt.Sprintf(`{"schemaVersion":2,"manifests":[],"n":%d}`, i)))
	}

	a["/manifests/spread"] = listOf(leaves...)
	deep := a.put(listOf(leaves[0]))
	for range 10 {
		deep = a.put(listOf(deep))
	}

	a["/manifests/deep"] = listOf(deep)
	entry := `{"digest":"` + zero + `","platform":{"os":"linux","architecture":"amd64"}}`
	a["/manifests/many"] = `{"schemaVersion":2,"manifests":[` + strings.Repeat(entry+",", 600) + entry + "]}"
	host := serve(t, a)
	f := func() *images.Finder {
		return finder(t, images.Options{Keychain: authn.NewMultiKeychain(), Timeout: time.Minute})
	}

	for tag, want := range map[string]string{
		"huge": "longer than 8 MiB", "text": "read manifest", "other": "neither an index", "digest": "read manifest",
		"redirects": "more than 180 requests",
		"wrong":     "does not match", "wrongconfig": "sha256:0000", "spread": "too many manifests",
		"deep": "more than 4 indexes", "many": "more than 500 entries",
		"missing": "has no image",
	} {
		began := time.Now()
		got, err := f().Platforms(t.Context(), host+"/app:"+tag)
		t.Logf("%s: %s", tag, time.Since(began).Round(time.Millisecond))
		lookup, ok := errors.AsType[*check.LookupError](err)
		if !ok || got != nil || !strings.Contains(err.Error(), want) || lookup.Remedy == "" || lookup.About == host {
			t.Errorf("%s: %v, %v; want %q", tag, got, err, want)
		}
	}

	for _, bad := range []string{"UPPER/case", "a b", "x:y:z", strings.Repeat("a", 10_000)} {
		if _, err := f().Platforms(t.Context(), bad); err == nil {
			t.Errorf("%.20q was looked up", bad)
		}
	}
}

// TestUnreachable checks that an error of the whole registry is about its host, and that the registry is asked once.
// TestLoaded: images that were never in a registry are looked up nowhere.
func TestLoaded(t *testing.T) {
	ps, err := finder(t, images.Options{}).Platforms(t.Context(), "mullion.local/win-webserver:v1")
	if len(ps) > 0 || err != nil {
		t.Errorf("%v, %v", ps, err)
	}
}

func TestUnreachable(t *testing.T) {
	host := serve(t, answers{})
	closed := httptest.NewServer(answers{})
	gone := strings.TrimPrefix(closed.URL, "http://")
	closed.Close()
	busy := serve(t, http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request,
	) {
		w.WriteHeader(http.StatusTooManyRequests)
	}))

	f := finder(t, images.Options{Keychain: authn.NewMultiKeychain()})
	for at, about := range map[string]string{gone: gone, busy: busy, host: host + "/app:1"} {
		_, err := f.Platforms(t.Context(), at+"/app:1")
		if lookup, ok := errors.AsType[*check.LookupError](err); !ok || lookup.About != about {
			t.Errorf("%s: %+v, want it to be about %s", at, lookup, about)
		}
		if _, again := f.Platforms(t.Context(), at+"/app:2"); (again == err) != (about == at) { //nolint:errorlint // the same error, not one like it
			t.Errorf("%s: then %v", at, again)
		}
	}
}

// TestCredentials: a registry that asks for them gets them, and one that refuses them is a fault.
func TestCredentials(t *testing.T) {
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)))
	host := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pass, _ := r.BasicAuth(); user != "me" || pass != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))

	ref, err := name.NewTag(host + "/app:1")
	if err != nil {
		t.Fatal(err)
	}
	me := authn.FromConfig(authn.AuthConfig{Username: "me", Password: "secret"})
	if err := remote.WriteIndex(ref, index(t, true, "linux/amd64"), remote.WithAuth(me)); err != nil {
		t.Fatal(err)
	}

	t.Setenv("DOCKER_CONFIG", t.TempDir()) // that of the user, which has nothing
	_, err = finder(t, images.Options{}).Platforms(t.Context(), ref.String())
	if lookup, ok := errors.AsType[*check.LookupError](err); !ok || !strings.Contains(err.Error(), "credentials") ||
		!strings.Contains(lookup.Remedy, "docker login") {
		t.Errorf("without credentials: %v", err)
	}

	writeFile(t, "config.json", fmt.Sprintf(`{"auths":{%q:{"username":"me","password":"secret"}}}`, host))
	if got, err := finder(t, images.Options{}).Platforms(t.Context(), ref.String()); err != nil || len(got) != 1 {
		t.Errorf("with credentials: %v, %v", got, err)
	}
}

// TestFaultsAreLocated: of images whose registries hang or refuse, each place is told once for what it is about, and
// the rest is judged by what the other registry has.
func TestFaultsAreLocated(t *testing.T) {
	good := realRegistry(t)
	end := make(chan struct{})
	hang := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(end) }) // before the server is closed
	refuse := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))

	var in strings.Builder
	pod := func(image string) {
		fmt.Fprintf(
			&in, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeSelector: {kubernetes.io/os: windows}\n  containers:\n  - {name: c, image: %q}\n", image)
	}

	for _, image := range []string{
		hang + "/a:1", hang + "/b:1", refuse + "/a:1", refuse + "/a:2", good + "/app:linux",
		good + "/app:2019",
	} {
		pod(image)
	}

	fmt.Fprintf(
		&in, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: undecided}\nspec:\n  containers:\n  - {name: c, image: %q}\n", good+"/app:2019")
	b, err := winver.Lookup("ltsc2022")
	if err != nil {
		t.Fatal(err)
	}

	f := finder(t, images.Options{Keychain: authn.NewMultiKeychain(), Timeout: time.Second})
	c, err := check.New(rules.All(), check.Options{
		Kubernetes: 37,
		Windows:    []winver.Build{b},
		Chosen:     true,
		Images:     f,
	})
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	pods := 0
	began := time.Now()
	if err := c.Run(t.Context(), "f", strings.NewReader(in.String()), func(r check.Result) error {
		for _, x := range r.Faults {
			got = append(got, fmt.Sprintf("%d:%d fault %s", x.Line, x.Column, x.Message))
		}
		for _, x := range r.Findings {
			got = append(got, fmt.Sprintf("%d:%d %s", x.Line, x.Column, x.Rule.ID))
		}
		pods += r.Pods[check.Windows]
		return nil
	}); err != nil {
		t.Fatal(err)
	}

	want := []string{
		"8:15 fault registry " + hang + " did not answer within 1s; it is judged by its name",
		"24:15 fault registry " + refuse + " does not show image " + refuse + "/a:1 without other credentials, or it has no such image (status 401); it is judged by its name",
		"40:15 image-linux", "48:15 image-no-build", "49:1 os-undecided", "55:15 image-no-build",
	}

	for i := range got { // nothing places the pod whose image is for Windows only
		if got[i] == "50:1 os-undecided" {
			got[i] = "49:1 os-undecided"
		}
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if took := time.Since(began); pods != 7 || took > 30*time.Second {
		t.Errorf("%d pods for Windows, want 7; %s", pods, took)
	}
}
