// Package metrics owns the page of an exporter as tests look at it: samples in Prometheus' text format.
package metrics

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Page are the samples of a page, by name and labels as they are written.
type Page map[string]float64

// sample is a line of the format: https://prometheus.io/docs/instrumenting/exposition_formats/
var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) (\S+)`)

// Parse reads a page in Prometheus' text format.
func Parse(t *testing.T, page string) Page {
	t.Helper()
	found := Page{}
	for line := range strings.Lines(page) {
		m := sample.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		found[m[1]] = value
	}

	return found
}

// Value returns a sample's, which must be there.
func (p Page) Value(t *testing.T, name string) float64 {
	t.Helper()
	value, ok := p[name]
	if !ok {
		t.Errorf("no sample %s", name)
	}
	return value
}

// Names returns the samples of a metric, sorted.
func (p Page) Names(metric string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p)), func(name string) bool {
		return name != metric && !strings.HasPrefix(name, metric+"{")
	})
}

// Between holds that a sample is there and in bounds.
func (p Page) Between(t *testing.T, name string, low, high float64) {
	t.Helper()
	rounding := 1e-6 * max(low, -low) // sums of floating point numbers
	if value := p.Value(t, name); value < low-rounding || value > high+rounding {
		t.Errorf("%s is %v, want %v to %v", name, value, low, high)
	}
}
