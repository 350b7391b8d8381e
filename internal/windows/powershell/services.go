package powershell

import (
	"errors"
	"slices"
	"strings"
)

// service is a service of Windows.
type service struct{ name, display, status string }

// object is a service as Get-Service shows it.
func (s service) object() *object {
	o := newObject("service").set("Status", s.status).set("Name", s.name).set("DisplayName", s.display)
	o.props["servicename"] = s.name
	return o
}

// chosen are the services that a cmdlet's names, with wild cards, or its input mean. What is missing is reported.
func (c *call) chosen() ([]service, error) {
	all, err := c.f.in.session.system().services()
	if err != nil {
		return nil, c.fail(err)
	}
	slices.SortFunc(all, func(a, b service) int { return strings.Compare(lower(a.name), lower(b.name)) })
	names := c.items("name")
	if len(names) == 0 && !c.piped {
		return all, nil
	}
	var found []service
	for _, v := range names {
		name := text(v)
		re, err := wildcard(name)
		if err != nil {
			return nil, err
		}
		before := len(found)
		for _, s := range all {
			if re.MatchString(s.name) {
				found = append(found, s)
			}
		}
		if len(found) == before && !hasWildcard(name) {
			err := itsWords("Cannot find any service with service name '%s'.", name)
			if err := c.fail(err); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func getService(c *call) error {
	found, err := c.chosen()
	if err != nil {
		return err
	}
	for _, s := range found {
		if err := c.show(s.object()); err != nil {
			return err
		}
	}
	return nil
}

// errHasDependents is the error of stopping a service that others need.
var errHasDependents = errors.New("it has dependent services, which only -Force stops too")

// changing starts, stops or restarts services.
func changing(actions ...string) func(c *call) error {
	return func(c *call) error {
		found, err := c.chosen()
		if err != nil {
			return err
		}
		for _, s := range found {
			for _, action := range actions {
				if err = c.f.in.session.system().control(c.f.in.ctx, s.name, action, c.flags["force"]); err != nil {
					break
				}
				s.status = map[string]string{"start": "Running", "stop": "Stopped"}[action]
			}
			if err != nil {
				what := "Service '" + s.display + " (" + s.name + ")' cannot be " + map[string]string{
					"start": "started", "stop": "stopped",
				}[actions[0]]
				if err := c.fail(itsWords("%s due to the following error: %v", what, err)); err != nil {
					return err
				}
				continue
			}
			if c.flags["passthru"] {
				if err := c.show(s.object()); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func serviceCmdlets() []cmdlet {
	of := func(name, about string, run func(c *call) error, flags ...string) cmdlet {
		return cmdlet{
			name: name, about: about, run: run, flags: flags,
			values: []string{"name"}, positions: []string{"name"}, takes: "name",
		}
	}
	change := func(name, alias, about string, actions ...string) cmdlet {
		c := of(name, about, changing(actions...), "passthru")
		if name != "Start-Service" {
			c.flags = append(c.flags, "force")
		}
		c.aliases = nil
		if alias != "" {
			c.aliases = []string{alias}
		}
		c.needs = []string{"name"}
		return c
	}
	get := of("Get-Service", "services, with Status, Name and DisplayName", getService)
	get.aliases = []string{"gsv"}
	return []cmdlet{
		get,
		change("Start-Service", "sasv", "starts services", "start"),
		change("Stop-Service", "spsv", "stops services", "stop"),
		change("Restart-Service", "", "stops services and starts them again", "stop", "start"),
	}
}
