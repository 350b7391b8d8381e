package keeper

import (
	"context"
	"os/exec"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/windows/wire/services"
)

// Local returns this Windows.
func Local() System { return local{} }

type local struct{}

// Watch implements System.
func (local) Watch(ctx context.Context) error {
	return exec.CommandContext(ctx, `C:\Windows\System32\mullion-run.exe`, "--services").Run()
}

// Output implements System.
func (local) Output(service, file string) error { return services.SetOutput(service, file) }

// Environ implements System.
func (local) Environ(service string, variables []string) error {
	return services.SetEnvironment(service, variables)
}

// Line implements System.
func (local) Line(args []string) string { return windows.ComposeCommandLine(args) }

// Ended implements System.
func (local) Ended(pid uint32) (<-chan struct{}, error) {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, pid)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = windows.WaitForSingleObject(process, windows.INFINITE) // a wait that fails is an end: who asks finds out
		_ = windows.CloseHandle(process)
	}()
	return ended, nil
}
