//go:build conformance

package page

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the picture of the page in docs")

const (
	picture = "../../../docs/conformance.png"
	// The picture's size, in pixels and at most in bytes.
	pictureWidth, pictureHeight, maxPicture = 1280, 2560, 200_000
)

// browser finds a browser that speaks the DevTools protocol and needs no display.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal(
		"there is no chromium-headless-shell, chromium or google-chrome: `make deps FOR=test` installs what the tests need")
	return ""
}

// openPage opens the sample page in a browser of its own, whose context it gives. When the test has ended, the page
// must have done nothing but show itself.
func openPage(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		// root has no sandbox there, and only a file of ours is opened
		chromedp.ExecPath(browser(t)), chromedp.NoSandbox,
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("disable-lcd-text", true))

	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, endTab := chromedp.NewContext(allocator)
	t.Cleanup(endTab)
	complaints := make(chan string, 100)
	if err := chromedp.Listen(ctx, func(event any) {
		if c := complaint(event); c != "" {
			select {
			case complaints <- c:
			default: // enough is said
			}
		}
	}); err != nil {
		t.Fatalf("start the browser: %v", err)
	}

	t.Cleanup(func() {
		said := map[string]bool{} // each time that the page was loaded
		for range len(complaints) {
			if c := <-complaints; !said[c] {
				said[c] = true
				t.Errorf("the page should do nothing but show itself: %s", c)
			}
		}
	})
	call(ctx, t, network.Enable, network.EnableParams{})
	do(ctx, t, chromedp.Navigate("file://"+samplePage(t)))

	return ctx
}

// complaint returns what is wrong with an event: an error, or a request for anything but the page itself.
func complaint(event any) string {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			return thrown.Description
		}
		return e.ExceptionDetails.Text

	case *runtime.EventConsoleAPICalled:
		return fmt.Sprint("console: ", e.Type)
	case *log.EventEntryAdded:
		return e.Entry.Text
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "file://") || !strings.HasSuffix(e.Request.URL, "/"+HTMLFile) {
			return "request for " + e.Request.URL
		}
	}

	return ""
}

func do(ctx context.Context, t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// load loads the page anew, as wide as is said, in light or dark colours.
func load(ctx context.Context, t *testing.T, width, height int64, scheme string) {
	t.Helper()
	call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{
		Name:  "prefers-color-scheme",
		Value: scheme,
	}}})
	do(ctx, t, chromedp.EmulateViewport(width, height), chromedp.Reload())
}

// call runs a command of the DevTools protocol.
func call[P, R any](ctx context.Context, t *testing.T, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		t.Fatalf("%s: %v", command.Method, err)
	}
}

// js evaluates an expression.
func js[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// unfoldAll opens all that can be opened.
const unfoldAll = `for (const d of document.querySelectorAll('details')) d.open = true; 0`

// TestPageCounts holds that the numbers shown agree with each other.
func TestPageCounts(t *testing.T) {
	ctx := openPage(t)
	tiles := js[[]string](
		ctx, t, `[...document.querySelectorAll('.tiles li')].map(l => l.innerText.replace(/\s+/g, ' '))`)
	if diff := gocmp.Diff([]string{"51 specs", "10 ✗ failed", "1 ~ flaky", "38 ✓ passed", "2 s skipped"},
		tiles); diff != "" {
		t.Errorf("tiles (-want +got):\n%s", diff)
	}

	areas := js[int](
		ctx, t, `[...document.querySelectorAll('.areas tbody tr')].reduce((n, r) => n + Number(r.cells[2].innerText), 0)`)
	rows := js[int](ctx, t, `document.querySelectorAll('#g tr').length`)
	columns := js[int](ctx, t, `document.querySelectorAll('.grid th.s').length`)
	if areas != 51 || rows != 51 || columns != 3 {
		t.Errorf("the areas have %d specs, the table %d rows of %d runs", areas, rows, columns)
	}

	causes := js[[]string](
		ctx, t, `[...document.querySelectorAll('section')].map(s => s.querySelector('.tag').innerText + ' ' + s.querySelectorAll(':scope > details').length)`)
	if diff := gocmp.Diff([]string{"our gap 4", "our gap 1", "needs Internet 1", "unknown 5"}, causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// shown is how many rows of specs can be seen.
const shown = `[...document.querySelectorAll('#g tr')].filter(r => r.offsetHeight > 0).length`

// TestPageFilters tries each thing that selects rows, as a user does.
func TestPageFilters(t *testing.T) {
	ctx := openPage(t)
	for _, tc := range []struct {
		name, do string
		want     string // an expression
	}{
		{
			"area", `document.querySelector('[data-area="sig-windows"]').click()`,
			`document.querySelectorAll('#g tr[data-a="sig-windows"]').length`,
		},
		{
			"name", `by('q').value = 'PROBING container'; by('q').dispatchEvent(new Event('input'))`,
			`rows.filter(r => r.innerText.includes('Probing container')).length`,
		},
		{
			"tag", `by('q').value = '[conformance]'; by('q').dispatchEvent(new Event('input'))`,
			`document.querySelectorAll('#g [title*="[Conformance]"]').length`,
		},
		{
			"state", `document.querySelector('#f [value=passed]').click()`,
			`document.querySelectorAll('#g tr:not([data-s=passed])').length`,
		},
		{"differs", `by('d').click()`, `rows.filter(r => new Set([...r.querySelectorAll('.s')].map(c => c.innerText)).size > 1).length`},
		{"nothing", `by('q').value = 'no such spec'; by('q').dispatchEvent(new Event('input'))`, `0`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			load(ctx, t, 1280, 900, "light")
			all := js[int](ctx, t, shown)
			want := js[int](ctx, t, tc.want)
			js[int](ctx, t, "{"+tc.do+"}; 0")
			got := js[int](ctx, t, shown)
			if got != want || got >= all {
				t.Errorf("%d of %d rows are shown, want %d", got, all, want)
			}

			if said := js[string](ctx, t, `by('n').value`); said != fmt.Sprintf("%d of %d specs", got, all) {
				t.Errorf("the page says %q", said)
			}
		})
	}
}

// TestPageUnfolds follows a spec's link to its failure, with its message and logs.
func TestPageUnfolds(t *testing.T) {
	ctx := openPage(t)
	load(ctx, t, 1280, 900, "light")
	const failure = `document.querySelector('details:target')`
	do(ctx, t, chromedp.Click(`#g a[href="#spec-166"]`))
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](failure+`?.open`,
		chromedp.WithPollingTimeout(10*time.Second))); err != nil {
		t.Fatalf("the link of a spec does not unfold its failure: %v", err)
	}

	for what, want := range map[string]string{
		"pre":                        "success: Told to stop trying",
		"details:nth-of-type(1) pre": "powershell.exe: line 40", "details:nth-of-type(2) pre": "kubelet of win-1",
	} {
		selector := fmt.Sprintf("%s.querySelector(':scope > div > %s, :scope > div %s')", failure, what, what)
		if before := js[bool](ctx, t, selector+".checkVisibility()"); what != "pre" && before {
			t.Errorf("%s is open before somebody opens it", what)
		}
		js[int](ctx, t, `for (const d of `+failure+`.querySelectorAll('details')) d.open = true; 0`)
		if got := js[string](ctx, t, selector+".innerText"); !strings.Contains(got, want) {
			t.Errorf("%s lacks %q:\n%s", what, want, got)
		}
		js[int](ctx, t, `for (const d of `+failure+`.querySelectorAll('details')) d.open = false; 0`)
	}
}

// TestPageFits checks that nothing is wider than the screen, of a computer or of a telephone.
func TestPageFits(t *testing.T) {
	ctx := openPage(t)
	for _, width := range []int64{1280, 390} {
		load(ctx, t, width, 900, "light")
		js[int](ctx, t, unfoldAll)
		if got := js[int64](ctx, t, `document.documentElement.scrollWidth`); got > width {
			t.Errorf("the page is %d pixels wide on a screen of %d", got, width)
		}
		const tables = `[...document.querySelectorAll('.scroll')].slice(0, 2).filter(s => s.scrollWidth > s.clientWidth).map(s => s.scrollWidth + ': ' + s.innerText.slice(0, 30))`
		if got := js[[]string](ctx, t, tables); len(got) > 0 {
			t.Errorf("tables that have to be moved sideways on a screen of %d pixels: %q", width, got)
		}
	}
}

// contrastJS lists texts with too little contrast to their background.
//
//go:embed testdata/contrast.js
var contrastJS string

// TestPageContrast holds that all text can be read, in light and in dark (WCAG 2.2, 1.4.3: 4.5 to 1,
// https://www.w3.org/TR/WCAG22/#contrast-minimum).
func TestPageContrast(t *testing.T) {
	ctx := openPage(t)
	backgrounds := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		load(ctx, t, 1280, 900, scheme)
		js[int](ctx, t, unfoldAll)
		backgrounds[js[string](ctx, t, `getComputedStyle(document.body).backgroundColor`)] = true
		if got := js[[]string](ctx, t, contrastJS); len(got) > 0 {
			t.Errorf("%s: too little contrast:\n%s", scheme, strings.Join(got, "\n"))
		}
	}
	if len(backgrounds) != 2 {
		t.Errorf("light and dark have the same background")
	}
}

// TestPagePicture takes the picture that is in docs, with one failure unfolded, and the specs that did not end alike in
// all runs.
func TestPagePicture(t *testing.T) {
	ctx := openPage(t)
	load(ctx, t, pictureWidth, pictureHeight, "light")
	js[int](
		ctx, t, `by('spec-166').open = true; [...by('spec-166').querySelectorAll('details')].at(-1).open = true; for (const l of document.querySelectorAll('pre')) l.style.maxHeight = '8rem'; by('d').click(); scrollTo(0, 0); 0`)
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}

	img, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, paletted(img)); err != nil {
		t.Fatal(err)
	}

	if size := small.Len(); size > maxPicture || size < 20_000 {
		t.Errorf("the picture has %d bytes, want up to %d and no blank page", size, maxPicture)
	}
	if *update {
		if err := os.WriteFile(filepath.FromSlash(picture), small.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	file, err := os.Open(filepath.FromSlash(picture))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if there, err := png.DecodeConfig(file); err != nil || there.Width != img.Bounds().Dx() ||
		there.Height != img.Bounds().Dy() {
		t.Errorf("docs/conformance.png is not a picture of this size (%v): hack/picture.sh takes it anew", err)
	}
}

// paletted returns the picture with its 256 commonest colours, which makes the file a third as large.
func paletted(img image.Image) *image.Paletted {
	count := map[color.Color]int{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[img.At(x, y)]++
		}
	}

	colours := slices.SortedFunc(maps.Keys(count),
		func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	out := image.NewPaletted(b, color.Palette(colours[:min(len(colours), 256)]))
	nearest := map[color.Color]uint8{}
	for _, c := range colours {
		nearest[c] = uint8(out.Palette.Index(c))
	}

	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[img.At(x, y)])
		}
	}

	return out
}
