package management

import (
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/winproc"
)

// processObject returns a process as Get-Process shows it. What Windows counts of it is asked for once, when a script
// or the screen wants it; of a process that must not be asked it is $null, as there
// (https://learn.microsoft.com/en-us/dotnet/api/system.diagnostics.process).
func processObject(sys *system.Calls, p system.Process) *object.Object {
	name := shortName(p)
	o := object.New("process").Set("Id", p.ID).Set("ProcessName", name).Set("Name", name)
	o.Props["machinename"] = "."
	o.Props["hasexited"] = false
	o.Props["responding"] = true

	var known *winproc.Detail
	asked := false
	detail := func() *winproc.Detail {
		if asked {
			return known
		}
		asked = true
		if d, err := sys.Counted(p.ID); err == nil {
			known = &d
		}
		return known
	}

	for name, of := range counts() {
		o.Props[name] = &object.Computed{Kind: "Property", Get: func(object.Value) (object.Value, error) {
			d := detail()
			if d == nil {
				return nil, nil
			}
			return of(d), nil
		}}
	}
	return o
}

// counts returns the properties that Windows counts, by their names in lower case: those of .NET and PowerShell's own
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/get-process).
func counts() map[string]func(d *winproc.Detail) object.Value {
	bytes := func(of func(d *winproc.Detail) uint64) func(d *winproc.Detail) object.Value {
		return func(d *winproc.Detail) object.Value { return int64(of(d)) } // no process has so much
	}
	workingSet := bytes(func(d *winproc.Detail) uint64 { return d.WorkingSet })
	paged := bytes(func(d *winproc.Detail) uint64 { return d.Paged })
	virtual := bytes(func(d *winproc.Detail) uint64 { return d.Virtual })
	nonpaged := bytes(func(d *winproc.Detail) uint64 { return d.Nonpaged })
	peak := bytes(func(d *winproc.Detail) uint64 { return d.PeakWorkingSet })
	handles := func(d *winproc.Detail) object.Value { return int64(d.Handles) }
	session := func(d *winproc.Detail) object.Value { return int64(d.Session) }

	return map[string]func(d *winproc.Detail) object.Value{
		"ws": workingSet, "workingset": workingSet, "workingset64": workingSet,
		"pm": paged, "pagedmemorysize": paged, "pagedmemorysize64": paged,
		"privatememorysize": paged, "privatememorysize64": paged,
		"vm": virtual, "virtualmemorysize": virtual, "virtualmemorysize64": virtual,
		"npm": nonpaged, "nonpagedsystemmemorysize": nonpaged, "nonpagedsystemmemorysize64": nonpaged,
		"peakworkingset": peak, "peakworkingset64": peak,
		"peakpagedmemorysize64":   bytes(func(d *winproc.Detail) uint64 { return d.PeakPaged }),
		"peakvirtualmemorysize64": bytes(func(d *winproc.Detail) uint64 { return d.PeakVirtual }),
		"pagedsystemmemorysize64": bytes(func(d *winproc.Detail) uint64 { return d.PagedPool }),

		"handles": handles, "handlecount": handles,
		"si": session, "sessionid": session,

		"cpu":       func(d *winproc.Detail) object.Value { return (d.User + d.Kernel).Seconds() },
		"starttime": func(d *winproc.Detail) object.Value { return object.DateTime{At: d.Start} },

		"totalprocessortime":      func(d *winproc.Detail) object.Value { return object.Span(d.User + d.Kernel) },
		"userprocessortime":       func(d *winproc.Detail) object.Value { return object.Span(d.User) },
		"privilegedprocessortime": func(d *winproc.Detail) object.Value { return object.Span(d.Kernel) },

		"path": func(d *winproc.Detail) object.Value {
			if d.Path == "" {
				return nil
			}
			return d.Path
		},
	}
}
