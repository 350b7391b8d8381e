package management

import (
	"cmp"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
)

// startTypes returns the values of -StartupType.
func startTypes() []string { return []string{"Automatic", "Manual", "Disabled"} }

// serviceObject returns a service as Get-Service shows it.
func serviceObject(s system.Service) *object.Object {
	o := object.New("service").Set("Status", valueNamed(serviceStatus(), s.Status)).Set("Name", s.Name).
		Set("DisplayName", s.Display)
	o.Props["servicename"], o.Props["starttype"] = s.Name, valueNamed(serviceStart(), s.Start)
	return o
}

// valueNamed returns the value of an enumeration with a name, nil if it has none of it.
func valueNamed(t *object.EnumType, name string) object.Value {
	if e, ok := t.Named(name); ok {
		return e
	}
	return nil
}

// serviceStatus returns what a service does
// (https://learn.microsoft.com/en-us/dotnet/api/system.serviceprocess.servicecontrollerstatus).
func serviceStatus() *object.EnumType {
	return &object.EnumType{
		Name: "ServiceProcess.ServiceControllerStatus",
		Values: []object.EnumName{
			{Name: "Stopped", N: 1},
			{Name: "StartPending", N: 2},
			{Name: "StopPending", N: 3},
			{Name: "Running", N: 4},
			{Name: "ContinuePending", N: 5},
			{Name: "PausePending", N: 6},
			{Name: "Paused", N: 7},
		},
	}
}

// serviceStart returns the enumeration of when a service is started
// (https://learn.microsoft.com/en-us/dotnet/api/system.serviceprocess.servicestartmode).
func serviceStart() *object.EnumType {
	return &object.EnumType{
		Name: "ServiceProcess.ServiceStartMode",
		Values: []object.EnumName{
			{Name: "Automatic", N: 2}, {Name: "Manual", N: 3}, {Name: "Disabled", N: 4},
		},
	}
}

// chosen returns the services that a cmdlet's names, with wild cards, or its input mean. What is missing is reported.
func chosen(c *cmdlet.Call) ([]system.Service, error) {
	all, err := c.State.System.Services()
	if err != nil {
		return nil, c.Fail(err)
	}
	slices.SortFunc(all, func(a, b system.Service) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})

	names := c.Items("name")
	if given, there := c.Values["name"]; there && (given == nil || slices.ContainsFunc(object.Items(given), nameless)) {
		return nil, object.Raise(object.BindingException,
			c.Name+" : Cannot validate argument on parameter 'Name'. The argument is null "+
				"or empty. Provide an argument that is not null or empty, and then try the command again.")
	}
	if len(names) == 0 && !c.Piped {
		return all, nil
	}

	var found []system.Service
	for _, v := range names {
		name := object.Text(v)
		re, err := pattern.Wildcard(name)
		if err != nil {
			return nil, err
		}

		before := len(found)
		for _, s := range all {
			if re.MatchString(s.Name) {
				found = append(found, s)
			}
		}
		if len(found) == before && !provider.HasWildcard(name) {
			err := &object.Exception{
				Class: "Microsoft.PowerShell.Commands.ServiceCommandException", ID: "NoServiceFoundForGivenName",
				Category: object.ObjectNotFound, Target: name,
				Message: "Cannot find any service with service name '" + name + "'.",
			}
			if err := c.Fail(err); err != nil {
				return nil, err
			}
		}
	}

	return found, nil
}

// nameless reports whether a value is no service's name.
func nameless(v object.Value) bool { return v == nil || v == "" }

func getService(c *cmdlet.Call) error {
	found, err := chosen(c)
	if err != nil {
		return err
	}
	for _, s := range found {
		if err := c.Output(serviceObject(s)); err != nil {
			return err
		}
	}
	return nil
}

// changing starts, stops or restarts services.
func changing(actions ...string) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		found, err := chosen(c)
		if err != nil {
			return err
		}

		for _, s := range found {
			for _, action := range actions {
				if err = c.State.System.Control(c.State.Context, s.Name, action, c.Flags["force"]); err != nil {
					break
				}
				s.Status = map[string]string{"start": "Running", "stop": "Stopped"}[action]
			}
			if err != nil {
				what := "Service '" + s.Display + " (" + s.Name + ")' cannot be " + map[string]string{
					"start": "started", "stop": "stopped",
				}[actions[0]]
				if err := c.Fail(words.Errorf("%s due to the following error: %v", what, err)); err != nil {
					return err
				}
				continue
			}

			if c.Flags["passthru"] {
				if err := c.Output(serviceObject(s)); err != nil {
					return err
				}
			}
		}

		return nil
	}
}

// change returns what a call of New-Service or Set-Service asks for.
func change(c *cmdlet.Call, name string) system.ServiceChange {
	change := system.ServiceChange{
		Name:        name,
		Display:     c.Text("displayname"),
		Description: c.Text("description"),
		Binary:      c.Text("binarypathname"),
	}

	for _, start := range startTypes() {
		if strings.EqualFold(start, c.Text("startuptype")) {
			change.Start = start
		}
	}

	for v := range object.Each(c.Values["dependson"]) {
		change.Needs = append(change.Needs, object.Text(v))
	}

	return change
}

// newService makes a service, which is started with the machine if -StartupType says nothing else.
func newService(c *cmdlet.Call) error {
	windows := c.State.System
	change := change(c, c.Text("name"))
	change.Display = cmp.Or(change.Display, change.Name)
	change.Start = cmp.Or(change.Start, startTypes()[0])
	if err := windows.NewService(change); err != nil {
		return c.Fail(words.Errorf("Service '%s (%s)' cannot be created due to the following error: %v",
			change.Display, change.Name, err))
	}
	return showServices(c, []string{change.Name})
}

// setService changes services, and starts or stops them.
func setService(c *cmdlet.Call) error {
	found, err := chosen(c)
	if err != nil {
		return err
	}

	var names []string
	for _, s := range found {
		windows := c.State.System
		err := windows.SetService(change(c, s.Name))
		actions := map[string]string{"running": "start", "stopped": "stop"}
		if action := actions[strings.ToLower(c.Text("status"))]; err == nil && action != "" {
			err = windows.Control(c.State.Context, s.Name, action, false)
		}
		if err != nil {
			err := words.Errorf("Service '%s (%s)' cannot be configured due to the following error: %v",
				s.Display, s.Name, err)
			if err := c.Fail(err); err != nil {
				return err
			}
			continue
		}

		names = append(names, s.Name)
	}

	if !c.Flags["passthru"] {
		return nil
	}
	return showServices(c, names)
}

// removeService deletes services.
func removeService(c *cmdlet.Call) error {
	found, err := chosen(c)
	if err != nil {
		return err
	}

	for _, s := range found {
		if err := c.State.System.Control(c.State.Context, s.Name, "delete", false); err != nil {
			err := words.Errorf("Service '%s (%s)' cannot be removed due to the following error: %v",
				s.Display, s.Name, err)
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}

	return nil
}

// showServices outputs services as they are now.
func showServices(c *cmdlet.Call, names []string) error {
	all, err := c.State.System.Services()
	if err != nil {
		return c.Fail(err)
	}
	for _, s := range all {
		if slices.Contains(names, s.Name) {
			if err := c.Output(serviceObject(s)); err != nil {
				return err
			}
		}
	}
	return nil
}

func serviceCmdlets() []cmdlet.Cmdlet {
	of := func(name, about string, run func(c *cmdlet.Call) error, flags ...string) cmdlet.Cmdlet {
		return cmdlet.Cmdlet{
			Name:      name,
			About:     about,
			Run:       run,
			Flags:     flags,
			Values:    []string{"name"},
			Positions: []string{"name"},
			Takes:     "name",
		}
	}

	change := func(name, alias, about string, actions ...string) cmdlet.Cmdlet {
		c := of(name, about, changing(actions...), "passthru")
		if name != "Start-Service" {
			c.Flags = append(c.Flags, "force")
		}
		if name == "Stop-Service" {
			c.Flags = append(c.Flags, "nowait") // it waits all the same: no longer than the service takes
		}
		c.Aliases = nil
		if alias != "" {
			c.Aliases = []string{alias}
		}
		c.Needs = []string{"name"}
		return c
	}

	remove := of("Remove-Service", "deletes services", removeService)
	remove.Needs = []string{"name"}
	get := of("Get-Service", "services, with Status, Name and DisplayName", getService)
	get.Aliases = []string{"gsv"}
	return []cmdlet.Cmdlet{
		get,
		remove,
		change("Start-Service", "sasv", "starts services", "start"),
		change("Stop-Service", "spsv", "stops services", "stop"),
		change("Restart-Service", "", "stops services and starts them again", "stop", "start"),
		{
			Name:      "New-Service",
			About:     "makes a service; under the account of the system",
			Run:       newService,
			Values:    []string{"name", "binarypathname", "displayname", "description", "startuptype", "dependson"},
			Positions: []string{"name", "binarypathname"},
			Needs:     []string{"name", "binarypathname"},
			Allowed:   map[string][]string{"startuptype": lowered(startTypes())},
		},
		{
			Name:      "Set-Service",
			About:     "changes when services are started, their texts and their state",
			Run:       setService,
			Values:    []string{"name", "startuptype", "status", "displayname", "description"},
			Flags:     []string{"passthru"},
			Positions: []string{"name"},
			Takes:     "name",
			Needs:     []string{"name"},
			Allowed: map[string][]string{
				"startuptype": lowered(startTypes()), "status": {"running", "stopped"},
			},
		},
	}
}

func lowered(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = strings.ToLower(s)
	}
	return out
}
