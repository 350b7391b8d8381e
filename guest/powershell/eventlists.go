package powershell

import "slices"

// existing are the logs that names with wild cards mean. A name that means none is reported.
func (c *call) existing(names []string) ([]string, error) {
	all, err := c.f.in.session.system().events.Logs()
	if err != nil {
		return nil, err
	}
	return c.matching(all, names, noLog)
}

// What is said of a name that means nothing.
const (
	noLog      = "There is not an event log on the localhost computer that matches \"%s\"."
	noProvider = "There is not an event provider on the localhost computer that matches \"%s\"."
)

// matching are those of all that names with wild cards mean. A name that means none is reported by words.
func (c *call) matching(all, names []string, words string) ([]string, error) {
	var found []string
	for _, name := range names {
		re, err := wildcard(name)
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
			if err := c.fail(itsWords(words, name)); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// logsOfProviders are the logs that sources write to.
func (c *call) logsOfProviders(providers []string) ([]string, error) {
	var logs []string
	for _, name := range providers {
		log, ok := c.f.in.session.system().events.LogOf(name)
		if !ok {
			if err := c.fail(itsWords(noProvider, name)); err != nil {
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

func (c *call) listLogs(names []string) error {
	logs, err := c.existing(names)
	if err != nil {
		return c.fail(err)
	}
	for _, log := range logs {
		info, err := c.f.in.session.system().events.Info(log)
		if err != nil {
			return c.fail(err)
		}
		o := newObject(custom).set("LogMode", "Circular").set("MaximumSizeInBytes", int64(info.MaxBytes)).
			set("RecordCount", int64(info.Records)).set("LogName", log)
		if err := c.show(o); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) listProviders(names []string) error {
	events := c.f.in.session.system().events
	all, err := events.Providers()
	if err == nil {
		all, err = c.matching(all, names, noProvider)
	}
	if err != nil {
		return c.fail(err)
	}
	for _, name := range all {
		var logs []value
		if log, known := events.LogOf(name); known {
			logs = append(logs, log)
		}
		o := newObject(custom).set("Name", name).set("LogLinks", logs).set("Opcodes", []value{}).set("Tasks", []value{})
		if err := c.show(o); err != nil {
			return err
		}
	}
	return nil
}
