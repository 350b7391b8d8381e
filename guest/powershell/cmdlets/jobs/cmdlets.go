package jobs

import (
	"slices"
	"time"

	"mullion.dev/mullion/guest/powershell/clixml"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// getJob outputs jobs; with -IncludeChildJob those that they are made of too.
func getJob(c *cmdlet.Call) error {
	chosen, err := selected(c)
	if err != nil {
		return err
	}
	if v, given := c.Values["hasmoredata"]; given {
		want := object.Truth(v)
		chosen = slices.DeleteFunc(chosen, func(j numbered) bool {
			return object.Truth(j.object().Value("hasmoredata")) != want
		})
	}
	if v, given := c.Values["newest"]; given {
		n, err := object.Integer(v)
		if err != nil {
			return err
		}
		slices.Reverse(chosen)
		chosen = chosen[:min(max(0, int(n)), len(chosen))]
	}

	for _, j := range chosen {
		if err := c.Out.Put(j.object()); err != nil {
			return err
		}
		if !c.Flags["includechildjob"] {
			continue
		}
		for child := range object.Each(j.object().Value("childjobs")) {
			if err := c.Out.Put(child); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitJob waits for jobs, with -Any for the first of them that ends, and outputs those that have ended.
func waitJob(c *cmdlet.Call) error {
	chosen, err := selected(c)
	if err != nil {
		return err
	}
	var late <-chan time.Time
	if v, given := c.Values["timeout"]; given {
		seconds, err := object.Integer(v)
		if err != nil {
			return err
		}
		if seconds >= 0 { // -1 has no end
			timer := time.NewTimer(time.Duration(seconds) * time.Second)
			defer timer.Stop()
			late = timer.C
		}
	}
	if c.Flags["any"] {
		return waitAny(c, chosen, late)
	}

	for _, j := range chosen {
		if err := j.await(c.State, late); err != nil {
			return err
		}
		if !over(j) { // it is late for the others too
			break
		}
	}
	for _, j := range chosen {
		if !over(j) {
			continue
		}
		if err := c.Out.Put(j.object()); err != nil {
			return err
		}
	}
	return nil
}

// waitAny waits until one of some jobs has ended, which is looked for in short steps: the action of an event may end
// them.
func waitAny(c *cmdlet.Call, chosen []numbered, late <-chan time.Time) error {
	const step = 20 * time.Millisecond
	for len(chosen) > 0 {
		for _, j := range chosen {
			if over(j) {
				return c.Out.Put(j.object())
			}
		}
		select {
		case <-late:
			return nil
		default:
		}
		timer := time.NewTimer(step)
		err := c.State.Await(nil, timer.C)
		timer.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// receiveJob outputs what jobs have sent, each in its stream.
func receiveJob(c *cmdlet.Call) error {
	if c.Flags["autoremovejob"] && !c.Flags["wait"] {
		return object.Thrown("Receive-Job : The AutoRemoveJob parameter cannot be used without the Wait parameter.")
	}
	chosen, err := selected(c)
	if err != nil {
		return err
	}

	for _, j := range chosen {
		for {
			ended := over(j) // before what it has sent is taken
			for _, m := range j.received(c.Flags["keep"]) {
				if err := receive(c, m); err != nil {
					return err
				}
			}
			if ended || !c.Flags["wait"] {
				break
			}
			if err := j.await(c.State, nil); err != nil {
				return err
			}
		}
		if c.Flags["autoremovejob"] {
			forget(c.State, j)
		}
	}
	return nil
}

// receive does with an object what was done with it in the job.
func receive(c *cmdlet.Call, m message) error {
	streams := map[clixml.Stream]struct {
		rune
		mark string
	}{
		clixml.Warning: {object.WarningStream, "WARNING: "}, clixml.Verbose: {object.VerboseStream, "VERBOSE: "},
		clixml.Debug: {object.DebugStream, "DEBUG: "}, clixml.Information: {object.InformationStream, ""},
	}
	s, says := streams[m.from]
	switch {
	case m.from == clixml.Errors:
		return c.Scope.Report(c, clixml.RecordOf(m.v))
	case !says:
		return c.Out.Put(m.v)
	case c.Scope.Elsewhere(s.rune):
		s.mark = ""
	}
	return c.Scope.Message(s.rune, s.mark+object.Text(m.v), c.State.Newline)
}

func stopJob(c *cmdlet.Call) error {
	chosen, err := selected(c)
	if err != nil {
		return err
	}
	for _, j := range chosen {
		if !over(j) {
			if err := j.stop(); err != nil {
				return c.Fail(err)
			}
		}
		if c.Flags["passthru"] {
			if err := c.Out.Put(j.object()); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget takes a job out of the session's list.
func forget(s *session.State, j numbered) {
	all := session.Keep[jobList](s)
	all.list = slices.DeleteFunc(all.list, func(other numbered) bool { return other == j })
}

// removeJob forgets jobs that have ended, with -Force also others, which it stops.
func removeJob(c *cmdlet.Call) error {
	chosen, err := selected(c)
	if err != nil {
		return err
	}
	for _, j := range chosen {
		if !over(j) && !c.Flags["force"] {
			err := words.Errorf("The command cannot remove the job with the job ID %d because the job is not finished. To remove "+
				"the job, first stop the job, or use the Force parameter.", j.id)
			if err := c.Fail(err); err != nil {
				return err
			}
			continue
		}
		if !over(j) {
			if err := j.stop(); err != nil {
				return c.Fail(err)
			}
		}
		forget(c.State, j)
	}

	return nil
}

// states are JobState's names, in lower case.
func states() []string {
	return []string{
		"notstarted", "running", "completed", "failed", "stopped", "blocked", "suspended", "disconnected", "suspending", "stopping", "atbreakpoint",
	}
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	all := append(eventCmdlets(), cmdlet.Cmdlet{
		Name:      "Start-Job",
		Aliases:   []string{"sajb"},
		Run:       startJob,
		Values:    []string{"scriptblock", "name", "argumentlist", "filepath", "initializationscript", cmdlet.ObjectName},
		Also:      map[string]string{"args": "argumentlist"},
		Positions: []string{"scriptblock", "initializationscript"},
		Takes:     cmdlet.ObjectName,
		Needs:     []string{"scriptblock|filepath"},
		About:     "a script block, or what a file has, in a process of its own; what it is given, and what it gives back, are values and the properties of objects",
	})
	for _, c := range []cmdlet.Cmdlet{
		{
			Name:    "Get-Job",
			Aliases: []string{"gjb"},
			About:   "the session's jobs",
			Run:     getJob,
			Values:  []string{"newest", "hasmoredata", "command"},
			Flags:   []string{"includechildjob"},
		},
		{
			Name:    "Wait-Job",
			Aliases: []string{"wjb"},
			About:   "waits for jobs, or with -Any for the first of them",
			Run:     waitJob,
			Values:  []string{"timeout"},
			Flags:   []string{"any", "force"},
		},
		{
			Name:    "Receive-Job",
			Aliases: []string{"rcjb"},
			About:   "what jobs have output, each object in its stream, without PSComputerName and RunspaceId",
			Run:     receiveJob,
			Flags:   []string{"wait", "keep", "autoremovejob"},
		},
		{
			Name:    "Stop-Job",
			Aliases: []string{"spjb"},
			About:   "ends jobs",
			Run:     stopJob,
			Flags:   []string{"passthru"},
		},
		{
			Name:    "Remove-Job",
			Aliases: []string{"rjb"},
			About:   "forgets jobs that have ended",
			Run:     removeJob,
			Values:  []string{"command"},
			Flags:   []string{"force"},
		},
	} {
		c.Values = append(c.Values, "id", "name", "instanceid", "state")
		c.Positions = []string{"id"}
		c.Takes = "id"
		c.Allowed = map[string][]string{"state": states()}
		if c.Name != "Get-Job" {
			c.Also = map[string]string{"job": "id"}
			c.Needs = []string{"id|name|instanceid|state"}
		}
		all = append(all, c)
	}
	return all
}
