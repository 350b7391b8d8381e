package powershell

func computerCmdlets() []cmdlet {
	of := func(name, about string, restart bool) cmdlet {
		return cmdlet{
			name:  name,
			about: about,
			flags: []string{"force"},
			run: func(c *call) error {
				if err := c.f.in.session.system().end(restart); err != nil {
					return c.fail(itsWords("Failed to end the computer localhost with the following error message: %v", err))
				}
				return nil
			},
		}
	}
	return []cmdlet{
		of("Restart-Computer", "restarts the host, or ends the container", true),
		of("Stop-Computer", "switches the host off, or ends the container", false),
	}
}
