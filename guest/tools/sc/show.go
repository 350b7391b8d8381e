package sc

import (
	"cmp"
	"strings"

	"mullion.dev/mullion/internal/windows/wire/services"
)

// named are the words for numbers.
type named map[uint32]string

func typeNames() named {
	return named{
		services.KernelDriver:     "KERNEL_DRIVER",
		services.FileSystemDriver: "FILE_SYSTEM_DRIVER",
		services.Adapter:          "ADAPTER",
		services.RecognizerDriver: "RECOGNIZER_DRIVER",
		services.OwnProcess:       "WIN32_OWN_PROCESS",
		services.ShareProcess:     "WIN32_SHARE_PROCESS",
		services.Win32:            "WIN32",
	}
}

// typeName returns the word for a type of services.
func typeName(kind uint32) string {
	name := cmp.Or(typeNames()[kind&^services.Interactive], "ERROR")
	if kind&services.Interactive != 0 {
		name += " (interactive)"
	}
	return name
}

func stateNames() named {
	return named{
		services.Stopped: "STOPPED", services.StartPending: "START_PENDING", services.StopPending: "STOP_PENDING",
		services.Running: "RUNNING", services.ContinuePending: "CONTINUE_PENDING",
		services.PausePending: "PAUSE_PENDING", services.Paused: "PAUSED",
	}
}

func startNames() named {
	return named{
		services.StartBoot: "BOOT_START", services.StartSystem: "SYSTEM_START", services.StartAuto: "AUTO_START",
		services.StartDemand: "DEMAND_START", services.StartDisabled: "DISABLED",
	}
}

func errorNames() named {
	return named{
		services.ErrorIgnore: "IGNORE", services.ErrorNormal: "NORMAL", services.ErrorSevere: "SEVERE",
		services.ErrorCritical: "CRITICAL",
	}
}

func actionNames() named {
	return named{
		services.ActionNone: "NONE", services.ActionRestart: "RESTART", services.ActionReboot: "REBOOT",
		services.ActionRun: "RUN PROCESS",
	}
}

// show prints a service's state. The display name is in lists only, the process where it was asked for.
func (p program) show(name string, display *string, s services.Status, process bool) {
	p.print("\nSERVICE_NAME: %s ", name)
	if display != nil {
		p.print("DISPLAY_NAME: %s", *display)
	}

	p.print("        TYPE               : %x  %s  ", s.Type, typeName(s.Type))
	p.print("        STATE              : %x  %s ", s.State, stateNames()[s.State])
	if s.State != services.Stopped {
		word := func(bit uint32, yes, no string) string {
			if s.Accepts&bit != 0 {
				return yes
			}
			return no
		}

		shutdown := word(services.AcceptShutdown, "ACCEPTS_SHUTDOWN", "IGNORES_SHUTDOWN")
		p.print("                                (%s, %s, %s)", word(services.AcceptStop, "STOPPABLE", "NOT_STOPPABLE"),
			word(services.AcceptPause, "PAUSABLE", "NOT_PAUSABLE"),
			word(services.AcceptPreShutdown, "ACCEPTS_PRESHUTDOWN", shutdown))
	}

	p.print("        WIN32_EXIT_CODE    : %d  (0x%x)", s.Exit, s.Exit)
	p.print("        SERVICE_EXIT_CODE  : %d  (0x%x)", s.ServiceExit, s.ServiceExit)
	p.print("        CHECKPOINT         : 0x%x", s.CheckPoint)
	p.print("        WAIT_HINT          : 0x%x", s.WaitHint)
	if process {
		p.print("        PID                : %d", s.PID)
		flags := ""
		if s.Flags&1 != 0 {
			flags = "RUNS_IN_SYSTEM_PROCESS"
		}
		p.print("        FLAGS              : %s", flags)
	}
}

// filter is what query is asked for.
type filter struct {
	name          string
	types, states uint32
	group         *string
}

func parseFilter(args []string) (filter, error) {
	f := filter{types: services.Win32, states: services.StateActive}
	if len(args) == 0 {
		return f, nil
	}

	if !strings.Contains(args[0], "=") {
		f.name, args = args[0], args[1:]
		if len(args) > 0 {
			return f, misuse{}
		}
		return f, nil
	}

	pairs, err := options(args, "type", "state", "bufsize", "ri", "group")
	if err != nil {
		return f, err
	}

	for _, o := range pairs {
		ok := true
		switch o.name {
		case "type":
			f.types, ok = map[string]uint32{
				"driver": services.Driver, "service": services.Win32, "all": services.Driver | services.Win32,
				"own": services.OwnProcess, "share": services.ShareProcess, "interact": services.Interactive,
				"kernel": services.KernelDriver, "filesys": services.FileSystemDriver,
				"rec": services.RecognizerDriver, "adapt": services.Adapter,
			}[strings.ToLower(o.value)]

		case "state":
			f.states, ok = map[string]uint32{
				"active": services.StateActive, "inactive": services.StateInactive, "all": services.StateAll,
			}[strings.ToLower(o.value)]
		case "group":
			f.group = &o.value
		}
		if !ok {
			return f, invalidField(o)
		}
	}

	return f, nil
}

func query(p program, _ string, args []string) error   { return p.query(args, false) }
func queryEx(p program, _ string, args []string) error { return p.query(args, true) }

func (p program) query(args []string, process bool) error {
	f, err := parseFilter(args)
	if err != nil {
		return err
	}

	if f.name != "" {
		return p.open("EnumQueryServicesStatus:OpenService", f.name, services.QueryStatus, func(h services.Handle) error {
			s, err := h.Status()
			if err == nil {
				p.show(f.name, nil, s, process)
			}
			return failed("QueryServiceStatus", err)
		})
	}

	all, err := p.services.List(f.types, f.states, f.group)
	for _, s := range all {
		p.show(s.Name, &s.Display, s.Status, process)
	}

	return failed("EnumQueryServicesStatus", err)
}

func showDependents(p program, name string, _ []string) error {
	return p.open("OpenService", name, services.EnumerateDep, func(h services.Handle) error {
		all, err := h.Dependents(services.StateAll)
		if err != nil {
			return failed("EnumDependentServices", err)
		}
		p.print("Enum: entriesRead  = %d", len(all))
		for _, s := range all {
			p.show(s.Name, &s.Display, s.Status, false)
		}
		return nil
	})
}

func showConfig(p program, name string, _ []string) error {
	return p.open("OpenService", name, services.QueryConfig, func(h services.Handle) error {
		c, err := h.Config()
		if err != nil {
			return failed("QueryServiceConfig", err)
		}
		delayed := ""
		if late, err := h.Number(services.LevelDelayed); err == nil && late != 0 && c.Start == services.StartAuto {
			delayed = "  (DELAYED)"
		}

		p.print("[SC] QueryServiceConfig SUCCESS\n\nSERVICE_NAME: %s", name)
		p.print("        TYPE               : %x  %s ", c.Type, typeName(c.Type))
		p.print("        START_TYPE         : %x   %s%s", c.Start, startNames()[c.Start], delayed)
		p.print("        ERROR_CONTROL      : %x   %s", c.ErrorControl, errorNames()[c.ErrorControl])
		p.print("        BINARY_PATH_NAME   : %s", c.Binary)
		p.print("        LOAD_ORDER_GROUP   : %s", c.Group)
		p.print("        TAG                : %d", c.Tag)
		p.print("        DISPLAY_NAME       : %s", c.Display)
		p.print("        DEPENDENCIES       : %s", strings.Join(c.Needs, "\n                           : "))
		p.print("        SERVICE_START_NAME : %s", c.Account)

		return nil
	})
}

func showDescription(p program, name string, _ []string) error {
	return p.open("OpenService", name, services.QueryConfig, func(h services.Handle) error {
		text, err := h.Description()
		if err == nil {
			p.print("[SC] QueryServiceConfig2 SUCCESS\n\nSERVICE_NAME: %s\nDESCRIPTION:  %s", name, text)
		}
		return failed("QueryServiceConfig2", err)
	})
}

func showFailure(p program, name string, _ []string) error {
	return p.open("OpenService", name, services.QueryConfig, func(h services.Handle) error {
		f, err := h.Failure()
		if err != nil {
			return failed("QueryServiceConfig2", err)
		}

		p.print("[SC] QueryServiceConfig2 SUCCESS\n\nSERVICE_NAME: %s", name)
		if f.Reset == services.NoChange {
			p.print("        RESET_PERIOD (in seconds)    : INFINITE")
		} else {
			p.print("        RESET_PERIOD (in seconds)    : %d", f.Reset)
		}

		text := func(p *string) string {
			if p == nil {
				return ""
			}
			return *p
		}
		p.print("        REBOOT_MESSAGE               : %s", text(f.Reboot))
		p.print("        COMMAND_LINE                 : %s", text(f.Command))
		title := "        FAILURE_ACTIONS              : "
		for _, a := range f.Actions {
			p.print("%s%s -- Delay = %d milliseconds.", title, actionNames()[a.Type], a.Delay)
			title = strings.Repeat(" ", len(title))
		}

		return nil
	})
}

func showFailureFlag(p program, name string, _ []string) error {
	return p.open("OpenService", name, services.QueryConfig, func(h services.Handle) error {
		flag, err := h.Number(services.LevelFailureFlag)
		if err != nil {
			return failed("QueryServiceConfig2", err)
		}
		word := "FALSE"
		if flag != 0 {
			word = "TRUE"
		}
		p.print("[SC] QueryServiceConfig2 SUCCESS\n\nSERVICE_NAME: %s", name)
		p.print("        FAILURE_ACTIONS_ON_NONCRASH_FAILURES: %s", word)
		return nil
	})
}
