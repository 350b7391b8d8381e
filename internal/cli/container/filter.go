package container

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/single"
)

// filters are values of --filter by their keys (https://docs.docker.com/reference/cli/docker/container/ls/#filter).
type filters map[string][]string

// filter is a key of --filter: whether a container fits one of its values, and whether a value is one.
type filter struct {
	key, value string // what a value is, for the help
	fits       func(c single.Container, value string, all []single.Container) bool
	check      func(value string) error
}

// allFilters returns the keys that there are.
func allFilters() []filter {
	return []filter{
		{key: "ancestor", value: "IMAGE", fits: func(c single.Container, value string, _ []single.Container) bool {
			return c.Image() == value || strings.HasPrefix(c.Image(), value+":")
		}},
		{key: "before", value: "CONTAINER", fits: func(c single.Container, value string, all []single.Container) bool {
			other, err := single.Find(all, value)
			return err == nil && c.Created.Before(other.Created)
		}},
		{key: "exited", value: "CODE", check: isCode, fits: func(c single.Container, value string, _ []single.Container) bool {
			return c.Status() == single.Exited && strconv.FormatUint(uint64(c.End.Code), 10) == value
		}},
		{
			key: "health", value: "starting|healthy|unhealthy|none", check: isHealth,
			fits: func(c single.Container, value string, _ []single.Container) bool { return healthOf(c) == value },
		},
		{key: "id", value: "ID", fits: func(c single.Container, value string, _ []single.Container) bool {
			return strings.HasPrefix(c.ID, value)
		}},
		{key: "label", value: "NAME[=VALUE]", fits: hasLabel},
		{key: "name", value: "PART", fits: func(c single.Container, value string, _ []single.Container) bool {
			return strings.Contains("/"+c.Name, value)
		}},
		{key: "network", value: "nat|none", fits: func(c single.Container, value string, _ []single.Container) bool {
			return string(networkOf(c)) == value
		}},
		{key: "publish", value: "PORT[/udp]", check: isExposed, fits: publishes},
		{key: "since", value: "CONTAINER", fits: func(c single.Container, value string, all []single.Container) bool {
			other, err := single.Find(all, value)
			return err == nil && c.Created.After(other.Created)
		}},
		{
			key: "status", value: "created|running|restarting|exited", check: isState,
			fits: func(c single.Container, value string, _ []single.Container) bool { return c.Status() == value },
		},
		{key: "volume", value: "NAME|PATH", fits: func(c single.Container, value string, _ []single.Container) bool {
			return slices.ContainsFunc(c.Run.Mounts, func(m single.Mount) bool {
				return m.Source == value || m.Target == value || (value != "" && m.Volume == strings.ToLower(value))
			})
		}},
	}
}

// filterNames returns the keys with their values, for the help.
func filterNames() string {
	var all []string
	for _, f := range allFilters() {
		all = append(all, f.key+"="+f.value)
	}
	return strings.Join(all, ", ")
}

func hasLabel(c single.Container, value string, _ []single.Container) bool {
	return c.HasLabel(value)
}

func publishes(c single.Container, value string, _ []single.Container) bool {
	exposed, _ := single.ParseExposed(value) // it was checked
	return slices.ContainsFunc(exposed, func(e single.Exposed) bool {
		for _, p := range c.Published() {
			if p.Protocol == e.Protocol && (p.Host == e.Port || p.Container == e.Port) {
				return true
			}
		}
		return false
	})
}

func isCode(value string) error {
	_, err := strconv.ParseUint(value, 10, 32)
	return err
}

func isExposed(value string) error {
	_, err := single.ParseExposed(value)
	return err
}

// healthOf returns the word of --filter for a container's health.
func healthOf(c single.Container) string {
	if c.Health == nil {
		return "none"
	}
	return c.Health.Status
}

func isHealth(value string) error {
	if slices.Contains([]string{single.Starting, single.Healthy, single.Unhealthy, "none"}, value) {
		return nil
	}
	return fmt.Errorf("invalid filter 'health=%s'", value)
}

func isState(value string) error {
	// The others are Docker's, and no container here is in one of them.
	if slices.Contains(strings.Fields("created running exited paused restarting removing dead"), value) {
		return nil
	}
	return fmt.Errorf("invalid filter 'status=%s'", value)
}

// parseFilters reads values of --filter.
func parseFilters(given []string) (filters, error) {
	all := filters{}
	for _, text := range given {
		key, value, ok := strings.Cut(text, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		i := slices.IndexFunc(allFilters(), func(f filter) bool { return f.key == key })
		var err error
		switch {
		case !ok:
			err = fmt.Errorf("invalid argument %q: want KEY=VALUE", text)
		case i < 0:
			err = fmt.Errorf("invalid filter '%s'", key)
		case allFilters()[i].check != nil:
			err = allFilters()[i].check(value)
		}
		if err != nil {
			return nil, exit.Misuse(fmt.Errorf("--filter: %w", err), "`mullion container ls --help` has the keys and their values")
		}

		all[key] = append(all[key], value)
	}

	return all, nil
}

// ofStates reports whether the filters say which states are meant.
func (f filters) ofStates() bool { return len(f["status"]) > 0 }

// chosen returns the containers that fit.
func (f filters) chosen(all []single.Container) ([]single.Container, error) {
	for _, name := range slices.Concat(f["before"], f["since"]) {
		if _, err := single.Find(all, name); err != nil {
			return nil, engine.Refused(err)
		}
	}

	var chosen []single.Container
	for _, c := range all {
		if f.fits(c, all) {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// fits reports whether a container fits one value of each key, and all labels.
func (f filters) fits(c single.Container, all []single.Container) bool {
	for _, one := range allFilters() {
		values := f[one.key]
		fits := func(value string) bool { return one.fits(c, value, all) }
		misses := func(value string) bool { return !fits(value) }
		switch {
		case len(values) == 0:
		case one.key == "label" && slices.ContainsFunc(values, misses):
			return false
		case !slices.ContainsFunc(values, fits):
			return false
		}
	}
	return true
}
