package corpus_test

import (
	"bytes"
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/corpus"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

func judge(tb testing.TB, in io.Reader, emit func(check.Result) error) {
	tb.Helper()
	c, err := check.New(rules.All(), check.Options{Kubernetes: 37, Windows: winver.All()})
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Run(tb.Context(), "corpus", in, emit); err != nil {
		tb.Fatal(err)
	}
	if err := c.Finish(emit); err != nil {
		tb.Fatal(err)
	}
}

func TestSameSeedSameCorpus(t *testing.T) {
	var a, b, c bytes.Buffer
	for out, seed := range map[*bytes.Buffer]uint64{&a: 1, &b: 1, &c: 2} {
		if err := corpus.Write(out, seed, 200); err != nil {
			t.Fatal(err)
		}
	}

	if !bytes.Equal(a.Bytes(), b.Bytes()) || bytes.Equal(a.Bytes(), c.Bytes()) {
		t.Error("the seed does not decide on the corpus")
	}

	seen, pods := map[string]int{}, 0
	judge(t, &a, func(r check.Result) error {
		for _, f := range r.Faults {
			t.Errorf("line %d: %s", f.Line, f.Message)
		}

		for _, f := range r.Findings {
			seen[f.Rule.ID]++
		}

		for _, n := range r.Pods {
			pods += n
		}

		return nil
	})

	if len(seen) < 10 || pods < 100 {
		t.Errorf("the corpus tries %d rules on %d pods", len(seen), pods)
	}
}

// cpu returns the processor time that the process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCheck measures manifests a second, by the clock and by processor time (which a loaded machine does not
// falsify; making the corpus is in it), and the heap at its largest.
func BenchmarkCheck(b *testing.B) {
	const n = 5000
	var peak uint64
	manifests := 0
	start, used := time.Now(), cpu(b)
	for b.Loop() {
		results := 0
		in := corpus.Reader(1, n)
		judge(b, in, func(check.Result) error {
			if results++; results%1000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
			return nil
		})
		in.Close()
		manifests += n
	}

	b.ReportMetric(float64(manifests)/time.Since(start).Seconds(), "manifests/s")
	b.ReportMetric(float64(manifests)/(cpu(b)-used).Seconds(), "manifests/cpu-s")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-heap")
}
