package run

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/single"
)

// healthOptions are the flags about a container's health.
type healthOptions struct {
	command                                      string
	interval, timeout, startPeriod, startBetween time.Duration
	retries                                      int
	none                                         bool
}

func (o *healthOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.command, "health-cmd", "", "command line that asks for the container's health; 0 is healthy (default: the image's)")
	f.DurationVar(&o.interval, "health-interval", 0, "`time` between two of them, for example 10s (default: the image's, or 30s)")
	f.DurationVar(&o.timeout, "health-timeout", 0, "`time` that one may take (default: the image's, or 30s)")
	f.IntVar(&o.retries, "health-retries", 0, "failures in a row that make it unhealthy (default: the image's, or 3)")
	f.DurationVar(&o.startPeriod, "health-start-period", 0, "`time` at the beginning in which failures do not count (default: the image's, or 0s)")
	f.DurationVar(&o.startBetween, "health-start-interval", 0, "`time` between two of them meanwhile (default: the image's, or 5s)")
	f.BoolVar(&o.none, "no-healthcheck", false, "do not ask for the container's health, though the image does")
}

// ask returns how the container is asked for its health; nil: as the image says.
func (o *healthOptions) ask() (*single.HealthCheck, error) {
	times := []struct {
		flag string
		is   time.Duration
	}{
		{"health-interval", o.interval},
		{"health-timeout", o.timeout},
		{"health-start-period", o.startPeriod},
		{"health-start-interval", o.startBetween},
	}
	given := o.command != "" || o.retries != 0
	for _, t := range times {
		if t.is < 0 {
			return nil, engine.Failed(fmt.Errorf("--%s cannot be negative", t.flag), "for example: --health-interval 10s")
		}
		given = given || t.is != 0
	}

	switch {
	case o.retries < 0:
		return nil, engine.Failed(errors.New("--health-retries cannot be negative"), "")
	case o.none && given:
		return nil, engine.Failed(errors.New("--no-healthcheck conflicts with --health-* options"), "leave one of them out")
	case o.none:
		return single.NoHealth(), nil
	case !given:
		return nil, nil //nolint:nilnil // the image says it
	}

	h := &single.HealthCheck{
		Interval:      o.interval,
		Timeout:       o.timeout,
		StartPeriod:   o.startPeriod,
		StartInterval: o.startBetween,
		Retries:       o.retries,
	}
	if o.command != "" {
		h.Test = []string{single.HealthShell, o.command}
	}
	if err := h.Check(); err != nil {
		return nil, engine.Failed(err, "")
	}
	return h, nil
}
