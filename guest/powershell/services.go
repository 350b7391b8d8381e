package powershell

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// service is a service of Windows. start is when it is started: Automatic, Manual or Disabled.
type service struct{ name, display, status, start string }

// serviceChange is what New-Service and Set-Service ask for; what is empty stays as it is.
type serviceChange struct {
	name, display, description, start string
	binary                            string // the command line of a new service
	needs                             []string
}

// startTypes are the values of -StartupType.
func startTypes() []string { return []string{"Automatic", "Manual", "Disabled"} }

// object is a service as Get-Service shows it.
func (s service) object() *object {
	o := newObject("service").set("Status", valueNamed(serviceStatus(), s.status)).set("Name", s.name).
		set("DisplayName", s.display)
	o.props["servicename"], o.props["starttype"] = s.name, valueNamed(serviceStart(), s.start)
	return o
}

// valueNamed is the value of an enumeration with a name, nil if it has none of it.
func valueNamed(t *enumType, name string) value {
	if e, ok := t.named(name); ok {
		return e
	}
	return nil
}

// serviceStatus is what a service does
// (https://learn.microsoft.com/en-us/dotnet/api/system.serviceprocess.servicecontrollerstatus).
func serviceStatus() *enumType {
	return &enumType{name: "ServiceProcess.ServiceControllerStatus", values: []enumName{
		{"Stopped", 1},
		{"StartPending", 2},
		{"StopPending", 3},
		{"Running", 4},
		{"ContinuePending", 5},
		{"PausePending", 6},
		{"Paused", 7},
	}}
}

// serviceStart is when a service is started
// (https://learn.microsoft.com/en-us/dotnet/api/system.serviceprocess.servicestartmode).
func serviceStart() *enumType {
	return &enumType{name: "ServiceProcess.ServiceStartMode", values: []enumName{
		{"Automatic", 2}, {"Manual", 3}, {"Disabled", 4},
	}}
}

// chosen are the services that a cmdlet's names, with wild cards, or its input mean. What is missing is reported.
func (c *call) chosen() ([]service, error) {
	all, err := c.f.in.session.system().services()
	if err != nil {
		return nil, c.fail(err)
	}
	slices.SortFunc(all, func(a, b service) int { return strings.Compare(lower(a.name), lower(b.name)) })
	names := c.items("name")
	if given, there := c.values["name"]; there && (given == nil || slices.ContainsFunc(itemsOf(given), nameless)) {
		return nil, raise(bindingException, c.name+" : Cannot validate argument on parameter 'Name'. The argument is null "+
			"or empty. Provide an argument that is not null or empty, and then try the command again.")
	}
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

// nameless reports whether a value is no service's name.
func nameless(v value) bool { return v == nil || v == "" }

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

// change is what a call of New-Service or Set-Service asks for.
func (c *call) change(name string) serviceChange {
	change := serviceChange{
		name: name, display: c.text("displayname"), description: c.text("description"), binary: c.text("binarypathname"),
	}
	for _, start := range startTypes() {
		if strings.EqualFold(start, c.text("startuptype")) {
			change.start = start
		}
	}
	for v := range each(c.values["dependson"]) {
		change.needs = append(change.needs, text(v))
	}
	return change
}

// newService makes a service, which is started with the machine if -StartupType says nothing else.
func newService(c *call) error {
	system := c.f.in.session.system()
	change := c.change(c.text("name"))
	change.display = cmp.Or(change.display, change.name)
	change.start = cmp.Or(change.start, startTypes()[0])
	if err := system.newService(change); err != nil {
		return c.fail(itsWords("Service '%s (%s)' cannot be created due to the following error: %v", change.display,
			change.name, err))
	}
	return c.showServices([]string{change.name})
}

// setService changes services, and starts or stops them.
func setService(c *call) error {
	found, err := c.chosen()
	if err != nil {
		return err
	}
	var names []string
	for _, s := range found {
		system := c.f.in.session.system()
		err := system.setService(c.change(s.name))
		if action := map[string]string{"running": "start", "stopped": "stop"}[lower(c.text("status"))]; err == nil && action != "" {
			err = system.control(c.f.in.ctx, s.name, action, false)
		}
		if err != nil {
			err := itsWords("Service '%s (%s)' cannot be configured due to the following error: %v", s.display, s.name, err)
			if err := c.fail(err); err != nil {
				return err
			}
			continue
		}
		names = append(names, s.name)
	}
	if !c.flags["passthru"] {
		return nil
	}
	return c.showServices(names)
}

// removeService deletes services.
func removeService(c *call) error {
	found, err := c.chosen()
	if err != nil {
		return err
	}
	for _, s := range found {
		if err := c.f.in.session.system().control(c.f.in.ctx, s.name, "delete", false); err != nil {
			err := itsWords("Service '%s (%s)' cannot be removed due to the following error: %v", s.display, s.name, err)
			if err := c.fail(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// showServices outputs services as they are now.
func (c *call) showServices(names []string) error {
	all, err := c.f.in.session.system().services()
	if err != nil {
		return c.fail(err)
	}
	for _, s := range all {
		if slices.Contains(names, s.name) {
			if err := c.show(s.object()); err != nil {
				return err
			}
		}
	}
	return nil
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
	remove := of("Remove-Service", "deletes services", removeService)
	remove.needs = []string{"name"}
	get := of("Get-Service", "services, with Status, Name and DisplayName", getService)
	get.aliases = []string{"gsv"}
	return []cmdlet{
		get,
		remove,
		change("Start-Service", "sasv", "starts services", "start"),
		change("Stop-Service", "spsv", "stops services", "stop"),
		change("Restart-Service", "", "stops services and starts them again", "stop", "start"),
		{
			name:      "New-Service",
			about:     "makes a service; under the account of the system",
			run:       newService,
			values:    []string{"name", "binarypathname", "displayname", "description", "startuptype", "dependson"},
			positions: []string{"name", "binarypathname"},
			needs:     []string{"name", "binarypathname"},
			allowed:   map[string][]string{"startuptype": lowered(startTypes())},
		},
		{
			name:      "Set-Service",
			about:     "changes when services are started, their texts and their state",
			run:       setService,
			values:    []string{"name", "startuptype", "status", "displayname", "description"},
			flags:     []string{"passthru"},
			positions: []string{"name"},
			takes:     "name",
			needs:     []string{"name"},
			allowed: map[string][]string{
				"startuptype": lowered(startTypes()), "status": {"running", "stopped"},
			},
		},
	}
}

func lowered(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = lower(s)
	}
	return out
}
