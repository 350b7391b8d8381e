package dockerout

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/internal/cli/exit"
)

// Pruned are values of a prune's --filter: what is removed was made before Until, has all of Labels and none of
// NotLabels, each NAME or NAME=VALUE. The zero value is for all.
type Pruned struct {
	Until             time.Time
	Labels, NotLabels []string
}

// ParsePruned reads values of a prune's --filter (https://docs.docker.com/reference/cli/docker/container/prune/#filter).
// As with Docker, whose filters are a set, there is one until, which may be given more than once
// (https://github.com/moby/moby/blob/v28.5.2/daemon/images/image_prune.go, getUntilFromPruneFilters).
func ParsePruned(given []string, now time.Time) (p Pruned, err error) {
	var until string
	for _, text := range given {
		key, value, ok := strings.Cut(text, "=")
		if !ok || value == "" { // until= of an unset variable is not for all
			return p, exit.Misuse(fmt.Errorf("--filter: invalid argument %q: want KEY=VALUE", text),
				"for example: --filter until=24h")
		}

		switch key {
		case "until":
			if until != "" && until != value {
				return p, exit.Misuse(errors.New("--filter: more than one until filter specified"), "leave all but one of them out")
			}

			until = value
			if p.Until, err = Time("--filter until", value, now); err != nil {
				return p, err
			}
		case "label":
			p.Labels = append(p.Labels, value)
		case "label!":
			p.NotLabels = append(p.NotLabels, value)
		default:
			return p, exit.Misuse(fmt.Errorf("--filter: invalid filter '%s'", key), "there are until, label and label!")
		}
	}

	return p, nil
}

// Time reads the time of a flag as docker does: how long ago it was, a date with or without a time and a zone, or
// seconds since 1970. "" is no time (https://docs.docker.com/reference/cli/docker/container/logs/#since).
func Time(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}

	for _, form := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02Z07:00", time.DateOnly,
	} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}

	if seconds, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(seconds) < math.MaxUint32*2 &&
		!strings.ContainsAny(text, "eExX") {
		whole, part := math.Modf(seconds)
		return time.Unix(int64(whole), int64(part*1e9)), nil
	}

	return time.Time{}, exit.Misuse(fmt.Errorf("%s %q is no time", flag, text), "for example: "+flag+" 10m")
}
