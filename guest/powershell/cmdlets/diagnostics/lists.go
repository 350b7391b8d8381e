package diagnostics

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/words"
)

// existing returns the logs that names with wild cards mean. A name that means none is reported.
func existing(c *cmdlet.Call, names []string) ([]string, error) {
	all, err := c.State.System.Events.Logs()
	if err != nil {
		return nil, err
	}
	return matching(c, all, names, noLog)
}

// What is said of a name that means nothing.
const (
	noLog      = "There is not an event log on the localhost computer that matches \"%s\"."
	noProvider = "There is not an event provider on the localhost computer that matches \"%s\"."
)

// matching returns the elements of all that names with wild cards mean. A name that means none is reported by words.
func matching(c *cmdlet.Call, all, names []string, noMatch string) ([]string, error) {
	var found []string
	for _, name := range names {
		re, err := pattern.Wildcard(name)
		if err != nil {
			return nil, err
		}

		before := len(found)
		for _, one := range all {
			if re.MatchString(one) {
				found = append(found, one)
			}
		}
		if len(found) == before {
			if err := c.Fail(words.Errorf(noMatch, name)); err != nil {
				return nil, err
			}
		}
	}

	return found, nil
}

// logsOfProviders returns the logs that sources write to.
func logsOfProviders(c *cmdlet.Call, providers []string) ([]string, error) {
	var logs []string
	for _, name := range providers {
		log, ok := c.State.System.Events.LogOf(name)
		if !ok {
			if err := c.Fail(words.Errorf(noProvider, name)); err != nil {
				return nil, err
			}
			continue
		}

		if !slices.Contains(logs, log) {
			logs = append(logs, log)
		}
	}

	return logs, nil
}

func listLogs(c *cmdlet.Call, names []string) error {
	logs, err := existing(c, names)
	if err != nil {
		return c.Fail(err)
	}

	for _, log := range logs {
		info, err := c.State.System.Events.Info(log)
		if err != nil {
			return c.Fail(err)
		}
		o := object.New(object.Custom).Set("LogMode", "Circular").Set("MaximumSizeInBytes", int64(info.MaxBytes)).
			Set("RecordCount", int64(info.Records)).Set("LogName", log)
		if err := c.Output(o); err != nil {
			return err
		}
	}

	return nil
}

func listProviders(c *cmdlet.Call, names []string) error {
	events := c.State.System.Events
	all, err := events.Providers()
	if err == nil {
		all, err = matching(c, all, names, noProvider)
	}
	if err != nil {
		return c.Fail(err)
	}

	for _, name := range all {
		var logs []object.Value
		if log, known := events.LogOf(name); known {
			logs = append(logs, log)
		}
		o := object.New(object.Custom).Set("Name", name).Set("LogLinks", logs).
			Set("Opcodes", []object.Value{}).Set("Tasks", []object.Value{})
		if err := c.Output(o); err != nil {
			return err
		}
	}

	return nil
}
