package diagnostics

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"mullion.dev/mullion/guest/counters"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// usual returns the counters of Get-Counter without a name
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.diagnostics/get-counter).
func usual() []object.Value {
	return []object.Value{
		`\network interface(*)\bytes total/sec`, `\processor(_total)\% processor time`, `\memory\% committed bytes in use`,
		`\memory\cache faults/sec`, `\physicaldisk(_total)\% disk time`, `\physicaldisk(_total)\current disk queue length`,
	}
}

// longest is how long a time between two samples may be, in seconds: PowerShell's own bound.
const longest = 1<<31 - 1

// getCounter reads counters. A rate needs two readings: the first is before the first interval, and is not output.
func getCounter(c *cmdlet.Call) error {
	interval, most, err := sampling(c)
	if err != nil {
		return err
	}
	paths, err := counterPaths(c)
	if err != nil || len(paths) == 0 {
		return err
	}

	query, err := c.State.System.Counters.Open(paths)
	if err != nil {
		return c.Fail(counterError(err))
	}
	defer query.Close() // it was only read
	if _, err := query.Collect(); err != nil {
		return c.Fail(counterError(err))
	}

	for n := int64(0); most == 0 || n < most; n++ {
		select {
		case <-time.After(interval):
		case <-c.State.Context.Done():
			return c.State.Context.Err()
		}
		samples, err := query.Collect()
		if err != nil {
			return c.Fail(counterError(err))
		}
		if err := putSamples(c, samples); err != nil {
			return err
		}
	}
	return nil
}

// sampling returns how long to wait before a sample, and how many there are, 0 without end.
func sampling(c *cmdlet.Call) (interval time.Duration, most int64, err error) {
	seconds, most := int64(1), int64(1)
	for name, to := range map[string]*int64{"sampleinterval": &seconds, "maxsamples": &most} {
		v, given := c.Values[name]
		if !given {
			continue
		}

		n, err := object.Integer(v)
		if err != nil {
			return 0, 0, err
		}

		if n < 1 || n > longest {
			return 0, 0, c.Unbound(object.Misfit("ParameterArgumentValidationError",
				"Cannot validate argument on parameter '%s'. The %d argument is less than the minimum allowed range of 1. Supply an "+
					"argument that is greater than or equal to 1 and then try the command again.",
				map[string]string{"sampleinterval": "SampleInterval", "maxsamples": "MaxSamples"}[name], n))
		}

		*to = n
	}

	if c.Flags["continuous"] {
		if c.Values["maxsamples"] != nil {
			return 0, 0, c.Unbound(&object.Exception{
				Class:    "System.Exception",
				ID:       "CounterApiError",
				Category: "InvalidArgument",
				Message:  "The Continuous parameter and the MaxSamples parameter cannot be used in the same command.",
			})
		}
		most = 0
	}

	return time.Duration(seconds) * time.Second, most, nil
}

// counterPaths returns the counters that the call names. Each path that means none is an error, after which the others
// are read.
func counterPaths(c *cmdlet.Call) ([]string, error) {
	given := c.Items("counter")
	if len(given) == 0 {
		given = usual()
	}

	var all []string
	for _, v := range given {
		path := object.Text(v)
		machine, rest, far := strings.Cut(strings.TrimPrefix(path, `\\`), `\`)
		if far && strings.HasPrefix(path, `\\`) {
			if !strings.EqualFold(machine, c.State.Env["COMPUTERNAME"]) {
				err := &object.Exception{
					Class: "System.Exception", ID: "CounterApiError", Category: "InvalidResult",
					Message: "Unable to connect to the specified computer or the computer is offline.",
				}
				if err := c.Fail(err); err != nil {
					return nil, err
				}
				continue
			}
			path = `\` + rest
		}

		found, err := c.State.System.Counters.Expand(path)
		if err == nil && len(found) == 0 {
			err = counters.NoInstance
		}
		if err != nil {
			if c.Values["counter"] == nil && !c.Piped {
				continue // of the usual ones, those that there are
			}
			if err := c.Fail(counterError(err)); err != nil {
				return nil, err
			}
		}
		all = append(all, found...)
	}
	return all, nil
}

// counterError returns an error of the counters, as Get-Counter reports it.
func counterError(err error) error {
	status, is := errors.AsType[counters.Status](err)
	if !is {
		return err
	}
	return &object.Exception{
		Class: "System.Exception", ID: "CounterApiError", Category: "InvalidResult", Message: status.Error(),
	}
}

// putSamples outputs counters as a PerformanceCounterSampleSet
// (https://learn.microsoft.com/en-us/dotnet/api/microsoft.powershell.commands.getcounter.performancecountersampleset).
func putSamples(c *cmdlet.Call, samples []counters.Sample) error {
	list := []object.Value{}
	var readings strings.Builder
	at := object.DateTime{At: time.Now()}
	invalid := false
	for _, s := range samples {
		o := sampleObject(s, c.State.Env["COMPUTERNAME"])
		at, invalid = object.DateTime{At: s.At}, invalid || s.Status != 0
		fmt.Fprintf(&readings, "%s :\n%s\n\n", object.Text(o.Props["path"]), object.Text(o.Props["cookedvalue"]))
		list = append(list, o)
	}

	if invalid {
		err := &object.Exception{
			Class: "System.Exception", ID: "CounterApiError", Category: "InvalidResult",
			Message: "The data in one of the performance counter samples is not valid. View the Status property for each " +
				"PerformanceCounterSample object to make sure it contains valid data.",
		}
		if err := c.Fail(err); err != nil {
			return err
		}
	}
	set := object.New("counters").Set("Timestamp", at).Set("CounterSamples", list)
	set.Props["readings"] = readings.String()
	return c.Out.Put(set)
}

// sampleObject returns a counter as a PerformanceCounterSample. Its path is in small letters and begins with the
// computer's name.
func sampleObject(s counters.Sample, computer string) *object.Object {
	path := strings.ToLower(s.Path)
	instance := ""
	if _, after, has := strings.Cut(path, "("); has {
		instance = after[:max(strings.LastIndexByte(after, ')'), 0)]
	}
	if !strings.HasPrefix(path, `\\`) {
		path = `\\` + strings.ToLower(cmp.Or(computer, "localhost")) + path
	}

	o := object.New("counter").Set("Path", path).Set("InstanceName", instance).Set("CookedValue", s.Cooked)
	o.Props["rawvalue"], o.Props["secondvalue"] = s.Raw, s.Second
	o.Props["multiplecount"], o.Props["status"] = int64(s.Count), int64(s.Status)
	o.Props["countertype"], o.Props["timestamp"] = int64(s.Type), object.DateTime{At: s.At}
	return o
}

func counterCmdlet() cmdlet.Cmdlet {
	return cmdlet.Cmdlet{
		Name:      "Get-Counter",
		About:     "performance counters, those that windows-api.md lists for pdh.dll",
		Run:       getCounter,
		Values:    []string{"counter", "sampleinterval", "maxsamples"},
		Flags:     []string{"continuous"},
		Positions: []string{"counter"},
		Takes:     "counter",
	}
}
