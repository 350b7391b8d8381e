package main

import (
	"math"
	"testing"
)

func TestProbeTimes(t *testing.T) {
	const metrics = `# TYPE prober_probe_duration_seconds histogram
prober_probe_duration_seconds_bucket{container="c",namespace="default",pod="a",probe_type="Readiness",le="0.1"} 6
prober_probe_duration_seconds_bucket{container="c",namespace="default",pod="a",probe_type="Readiness",le="0.5"} 9
prober_probe_duration_seconds_bucket{container="c",namespace="default",pod="a",probe_type="Readiness",le="+Inf"} 9
prober_probe_duration_seconds_bucket{container="c",namespace="default",pod="b",probe_type="Readiness",le="0.1"} 3
prober_probe_duration_seconds_bucket{container="c",namespace="default",pod="b",probe_type="Readiness",le="0.5"} 11
prober_probe_duration_seconds_bucket{container="c",namespace="default",pod="b",probe_type="Readiness",le="+Inf"} 11
prober_probe_duration_seconds_bucket{container="c",namespace="default",pod="b",probe_type="Liveness",le="0.1"} 70
prober_probe_duration_seconds_count{container="c",namespace="default",pod="b",probe_type="Readiness"} 11
`
	got, err := probeTimes(metrics)
	if err != nil || got[0.1] != 9 || got[0.5] != 20 || got[math.Inf(1)] != 20 {
		t.Errorf("times: %v, %v", got, err)
	}
	if _, err := probeTimes(`prober_probe_duration_seconds_bucket{probe_type="Readiness",le="x"} 1`); err == nil {
		t.Error("a bound that is no number was taken")
	}
}

func TestQuantile(t *testing.T) {
	before := map[float64]float64{0.1: 5, 0.5: 5, math.Inf(1): 5}
	for _, c := range []struct {
		after map[float64]float64
		want  float64
	}{
		{map[float64]float64{0.1: 105, 0.5: 105, math.Inf(1): 105}, 0.099},
		{map[float64]float64{0.1: 5, 0.5: 105, math.Inf(1): 105}, 0.496},
		{map[float64]float64{0.1: 5, 0.5: 5, math.Inf(1): 105}, math.Inf(1)},
	} {
		if got := quantile(0.99, before, c.after); got != c.want && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v: %v, want %v", c.after, got, c.want)
		}
	}
}
