//go:build wine

package exporter

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// metrics are the samples of a page in Prometheus' text format, by name and labels as they are written.
type metrics map[string]float64

// sample is a line of the format: https://prometheus.io/docs/instrumenting/exposition_formats/
var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) (\S+)`)

func parseMetrics(t *testing.T, page string) metrics {
	t.Helper()
	found := metrics{}
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

// value is a sample's, which must be there.
func (m metrics) value(t *testing.T, name string) float64 {
	t.Helper()
	value, ok := m[name]
	if !ok {
		t.Errorf("no sample %s", name)
	}
	return value
}

// names are the samples of a metric, sorted.
func (m metrics) names(metric string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(name string) bool {
		return name != metric && !strings.HasPrefix(name, metric+"{")
	})
}

// between holds that a sample is there and in bounds.
func (m metrics) between(t *testing.T, name string, low, high float64) {
	t.Helper()
	rounding := 1e-6 * max(low, -low) // sums of floating point numbers
	if value := m.value(t, name); value < low-rounding || value > high+rounding {
		t.Errorf("%s is %v, want %v to %v", name, value, low, high)
	}
}
