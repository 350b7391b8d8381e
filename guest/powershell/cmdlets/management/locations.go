package management

import (
	"io/fs"
	"os"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
)

func getLocation(c *cmdlet.Call) error { return c.Output(provider.Location(c.State.Dir)) }

func setLocation(c *cmdlet.Call) error {
	return c.ForEach(func(t cmdlet.Target) error {
		if info, err := os.Stat(t.Full); err != nil || !info.IsDir() {
			return fs.ErrNotExist
		}
		c.State.Dir = t.Full
		return nil
	})
}

// places are the folders that Push-Location remembers, the newest last.
type places struct{ folders []string }

// pushLocation remembers the current folder and changes to another one.
func pushLocation(c *cmdlet.Call) error {
	before := c.State.Dir
	if len(c.Values) > 0 {
		if err := setLocation(c); err != nil {
			return err
		}
		if !c.Scope.Succeeded() {
			return nil
		}
	}
	visited := session.Keep[places](c.State)
	visited.folders = append(visited.folders, before)
	return nil
}

// popLocation changes to the folder that was remembered last. Without one it does nothing.
func popLocation(c *cmdlet.Call) error {
	visited := session.Keep[places](c.State)
	if n := len(visited.folders); n > 0 {
		c.State.Dir, visited.folders = visited.folders[n-1], visited.folders[:n-1]
	}
	return nil
}

// placeCmdlets returns the cmdlets of the current folder.
func placeCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:    "Push-Location",
			Aliases: []string{"pushd"},
			About:   "changes the current folder, and remembers the one before",
			Run:     pushLocation,
		}),
		{
			Name:    "Pop-Location",
			Aliases: []string{"popd"},
			About:   "changes to the folder that Push-Location remembered",
			Run:     popLocation,
		},
	}
}
