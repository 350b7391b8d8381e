package machine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/winproc"
	"mullion.dev/mullion/internal/windows/wire/hostpower"
)

// kept returns Wine's own programs in a container; the container ends without them too.
func kept() []string {
	return []string{
		"services.exe", "explorer.exe", "winedevice.exe", "plugplay.exe", "svchost.exe", "rpcss.exe", "conhost.exe",
		"wineboot.exe", "mullion-run.exe", "start.exe",
	}
}

// MayEnd implements System. Of the machine's own processes a container's programs see theirs alone: the first is
// mullion-init.
func (local) MayEnd() error {
	name, err := os.ReadFile(`\\?\unix\proc\1\comm`)
	if err != nil || strings.TrimSpace(string(name)) != "mullion-init" {
		return ErrHost
	}
	return nil
}

// End implements System.
func (local) End() error {
	all, err := winproc.List()
	if err != nil {
		return err
	}

	const terminated = 0x40010004 // DBG_TERMINATE_PROCESS, with which Windows ends programs when it ends itself
	ended := false
	for _, p := range all {
		if p.ID == uint32(os.Getpid()) || slices.Contains(kept(), strings.ToLower(p.Image)) {
			continue
		}
		process, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, p.ID)
		if err != nil {
			continue // it has just ended, or is another user's
		}
		ended = windows.TerminateProcess(process, terminated) == nil || ended
		_ = windows.CloseHandle(process) // it was only ended
	}
	if !ended {
		return windows.ERROR_ACCESS_DENIED
	}

	return nil
}

// EndHost implements System.
func (local) EndHost(restart bool, after time.Duration) error {
	return hostpower.Ask(hostPowerFile(), hostpower.Request{Restart: restart, At: time.Now().Add(after)})
}

// KeepHost implements System.
func (local) KeepHost() (bool, error) { return hostpower.Cancel(hostPowerFile()) }

func hostPowerFile() string { return "C:" + filepath.FromSlash(hostpower.Path) }
