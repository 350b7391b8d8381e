package sc

import (
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/services"
)

// setting is an option of sc, name= value. The value may follow the equals sign, or be the next argument.
type setting struct{ name, value string }

// options reads settings of some names.
func options(args []string, names ...string) (found []setting, err error) {
	for i := 0; i < len(args); i++ {
		name, value, ok := strings.Cut(args[i], "=")
		name = strings.ToLower(name)
		if !ok || !slices.Contains(names, name) {
			return nil, misuse{}
		}

		if value == "" {
			i++
			if i == len(args) {
				return nil, misuse{}
			}
			value = args[i]
		}
		found = append(found, setting{name, value})
	}

	return found, nil
}

func invalidField(o setting) error { return misuse{"ERROR:  Invalid " + o.name + "= field"} }

// words finds the number of a word without regard to case.
func words(o setting, of map[string]uint32, number *uint32) error {
	n, ok := of[strings.ToLower(o.value)]
	if !ok {
		return invalidField(o)
	}
	*number = n
	return nil
}

// change is what create and config ask for; delayed is nil if nothing is said of when the service is started.
type change struct {
	services.Change
	delayed *bool
}

// parse reads the options of create and config into c.
func (c *change) parse(args []string) error {
	all, err := options(args, "type", "start", "error", "binpath", "group", "tag", "depend", "obj", "displayname", "password")
	if err != nil {
		return err
	}

	interactive := false
	for _, o := range all {
		switch o.name {
		case "type":
			if strings.EqualFold(o.value, "interact") {
				interactive = true
				continue
			}
			err = words(o, map[string]uint32{
				"own": services.OwnProcess, "share": services.ShareProcess, "kernel": services.KernelDriver,
				"filesys": services.FileSystemDriver, "rec": services.RecognizerDriver, "adapt": services.Adapter,
			}, &c.Type)

		case "start":
			late := strings.EqualFold(o.value, "delayed-auto")
			c.delayed = &late
			err = words(o, map[string]uint32{
				"boot": services.StartBoot, "system": services.StartSystem, "auto": services.StartAuto,
				"demand": services.StartDemand, "disabled": services.StartDisabled, "delayed-auto": services.StartAuto,
			}, &c.Start)

		case "error":
			err = words(o, map[string]uint32{
				"normal": services.ErrorNormal, "severe": services.ErrorSevere, "critical": services.ErrorCritical,
				"ignore": services.ErrorIgnore,
			}, &c.ErrorControl)
		case "tag":
			if !strings.EqualFold(o.value, "no") {
				return failed("sc tag=", services.NotSupported)
			}

		case "depend":
			c.Needs = slices.DeleteFunc(strings.Split(o.value, "/"), func(name string) bool { return name == "" })
		default:
			*map[string]**string{
				"binpath": &c.Binary, "group": &c.Group, "obj": &c.Account, "displayname": &c.Display, "password": &c.Password,
			}[o.name] = &o.value
		}

		if err != nil {
			return err
		}
	}

	if interactive {
		if c.Type == services.NoChange {
			return invalidField(setting{name: "type"})
		}
		c.Type |= services.Interactive
	}

	return nil
}

// account refuses an account that there cannot be.
func (c *change) account(call string) error {
	if c.Account != nil && *c.Account != "" && !services.KnownAccount(*c.Account) {
		return failed(call, services.InvalidAccount)
	}
	return nil
}

// late sets whether the service is started after the others, if something was said of it.
func (p program) late(name string, c change, needed bool) error {
	if c.delayed == nil || (!needed && !*c.delayed) {
		return nil
	}
	return p.open("OpenService", name, services.ChangeConfig, func(h services.Handle) error {
		value := uint32(0)
		if *c.delayed {
			value = 1
		}
		return failed("ChangeServiceConfig2", h.SetNumber(services.LevelDelayed, value))
	})
}

func create(p program, name string, args []string) error {
	c := change{Change: services.Change{
		Type: services.OwnProcess, Start: services.StartDemand, ErrorControl: services.ErrorNormal,
	}}

	err := c.parse(args)
	if err == nil && c.Binary == nil {
		err = misuse{}
	}
	if err == nil {
		err = c.account("CreateService")
	}
	if err == nil {
		err = failed("CreateService", p.services.Create(name, c.Change))
	}
	if err == nil {
		err = p.late(name, c, false)
	}
	if err == nil {
		p.print("[SC] CreateService SUCCESS")
	}

	return err
}

func configure(p program, name string, args []string) error {
	c := change{Change: services.Change{
		Type: services.NoChange, Start: services.NoChange, ErrorControl: services.NoChange,
	}}

	err := c.parse(args)
	if err == nil && len(args) == 0 {
		err = misuse{}
	}
	if err != nil {
		return err
	}

	err = p.open("OpenService", name, services.ChangeConfig|services.QueryConfig, func(h services.Handle) error {
		if err := c.account("ChangeServiceConfig"); err != nil {
			return err
		}
		was, err := h.Number(services.LevelDelayed)
		if err := failed("ChangeServiceConfig", h.Change(c.Change)); err != nil {
			return err
		}
		return p.late(name, c, err == nil && was != 0)
	})
	if err == nil {
		p.print("[SC] ChangeServiceConfig SUCCESS")
	}

	return err
}

// change2 changes an open service, and says that it was done.
func (p program) change2(name string, rights uint32, f func(services.Handle) error) error {
	return p.open("OpenService", name, rights, func(h services.Handle) error {
		if err := f(h); err != nil {
			return failed("ChangeServiceConfig2", err)
		}
		p.print("[SC] ChangeServiceConfig2 SUCCESS")
		return nil
	})
}

func describe(p program, name string, args []string) error {
	if len(args) > 1 {
		return misuse{}
	}
	return p.change2(name, services.ChangeConfig, func(h services.Handle) error {
		return h.Describe(strings.Join(args, ""))
	})
}

func setFailureFlag(p program, name string, args []string) error {
	value := 0
	err := error(nil)
	if len(args) == 1 {
		value, err = strconv.Atoi(args[0])
	}
	if err != nil || len(args) > 1 || value < 0 || value > 1 {
		return misuse{}
	}
	return p.change2(name, services.ChangeConfig, func(h services.Handle) error {
		return h.SetNumber(services.LevelFailureFlag, uint32(value)) // 0 or 1
	})
}

func setFailure(p program, name string, args []string) error {
	all, err := options(args, "reset", "reboot", "command", "actions")
	if err != nil || len(all) == 0 {
		return misuse{}
	}

	f := services.Failure{}
	reset := false
	for _, o := range all {
		switch o.name {
		case "reset":
			reset = true
			if f.Reset = services.NoChange; strings.EqualFold(o.value, "infinite") {
				continue
			}
			n, err := strconv.ParseUint(o.value, 10, 32)
			if err != nil {
				return invalidField(o)
			}
			f.Reset = uint32(n)

		case "reboot":
			f.Reboot = &o.value
		case "command":
			f.Command = &o.value
		case "actions":
			if f.Actions, err = actions(o); err != nil {
				return err
			}
		}
	}

	if reset != (f.Actions != nil) {
		return misuse{"ERROR:  The reset and actions options must be set simultaneously."}
	}

	return p.change2(name, services.ChangeConfig|services.StartRight, func(h services.Handle) error {
		return h.SetFailure(f)
	})
}

// actions reads action/delay/action/delay; the delays are milliseconds. Nothing, or a slash, is no action.
func actions(o setting) ([]services.Action, error) {
	found := []services.Action{}
	fields := strings.Split(strings.Trim(o.value, "/"), "/")
	if fields[0] == "" {
		if len(fields) == 1 {
			return found, nil
		}
		fields = fields[1:]
	}

	for i := 0; i < len(fields); i += 2 {
		kind := uint32(services.ActionNone)
		if err := words(setting{o.name, fields[i]}, map[string]uint32{
			"": services.ActionNone, "none": services.ActionNone, "run": services.ActionRun,
			"restart": services.ActionRestart, "reboot": services.ActionReboot,
		}, &kind); err != nil {
			return nil, err
		}

		delay := uint64(0)
		if i+1 < len(fields) {
			n, err := strconv.ParseUint(fields[i+1], 10, 32)
			if err != nil {
				return nil, invalidField(o)
			}
			delay = n
		}
		found = append(found, services.Action{Type: kind, Delay: uint32(delay)}) // parsed as 32 bits
	}

	return found, nil
}

func start(p program, name string, args []string) error {
	return p.open("StartService: OpenService", name, services.StartRight|services.QueryStatus, func(h services.Handle) error {
		if err := h.Start(args); err != nil {
			return failed("StartService", err)
		}
		s, err := h.Status()
		if err == nil {
			p.show(name, nil, s, true)
		}
		return failed("QueryServiceStatus", err)
	})
}

// control sends a control code.
func control(code, right uint32) func(program, string, []string) error {
	return func(p program, name string, _ []string) error {
		return p.open("OpenService", name, right, func(h services.Handle) error {
			s, err := h.Control(code)
			if err == nil {
				p.show(name, nil, s, false)
			}
			return failed("ControlService", err)
		})
	}
}

// controlBy sends a control code of the service's own, 128 to 255.
func controlBy(p program, name string, args []string) error {
	if len(args) != 1 {
		return misuse{}
	}
	n, err := strconv.ParseUint(args[0], 0, 8)
	if err != nil || n < 128 {
		return failed("ControlService", services.InvalidParameter)
	}
	return control(uint32(n), services.UserControl)(p, name, nil)
}

func remove(p program, name string, _ []string) error {
	return p.open("OpenService", name, services.DeleteRight, func(h services.Handle) error {
		if err := h.Delete(); err != nil {
			return failed("DeleteService", err)
		}
		p.print("[SC] DeleteService SUCCESS")
		return nil
	})
}
