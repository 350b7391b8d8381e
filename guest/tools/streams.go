package tools

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"mullion.dev/mullion/guest/schedule"
	"mullion.dev/mullion/guest/tools/curl"
	"mullion.dev/mullion/guest/tools/hostservice"
	"mullion.dev/mullion/guest/tools/logmonitor"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/robocopy"
	"mullion.dev/mullion/guest/tools/sc"
	"mullion.dev/mullion/guest/tools/schtasks"
	"mullion.dev/mullion/guest/tools/servicemonitor"
	"mullion.dev/mullion/guest/tools/tar"
	"mullion.dev/mullion/guest/tools/w3svc"
	"mullion.dev/mullion/internal/windows/wire/services"
)

func runLogMonitor(e program.Env, args []string) int {
	return logmonitor.Run(logmonitor.Streams{Out: e.Stdout, Err: e.Stderr}, logmonitor.ThisSystem(), args)
}

func runTar(e program.Env, args []string) int {
	return tar.Run(tar.Streams{
		In:  e.Stdin,
		Out: e.Stdout,
		Err: e.Stderr,
	}, args)
}

func runCurl(e program.Env, args []string) int {
	return curl.Run(curl.Streams{
		In:  e.Stdin,
		Out: e.Stdout,
		Err: e.Stderr,
	}, e.Getenv, args)
}

func runHostService(e program.Env, args []string) int { return hostservice.Run(e.Stderr, args) }

func runW3SVC(e program.Env, _ []string) int { return w3svc.Run(e.Stderr) }

func runSchtasks(e program.Env, args []string) int {
	return schtasks.Run(e, schedule.This(), time.Now(), args)
}

func runSC(e program.Env, args []string) int { return sc.Run(e.Stdout, services.Local(), args) }

func runServiceMonitor(e program.Env, args []string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM) // SIGTERM: CTRL_CLOSE_EVENT and CTRL_SHUTDOWN_EVENT
	defer signal.Stop(stop)
	return servicemonitor.Run(e.Stdout, servicemonitor.System{
		Services:       services.Local(),
		Environ:        e.Environ(),
		SetEnvironment: services.SetEnvironment,
		Stop:           stop,
		Every:          time.Second,
	}, args)
}

func runRobocopy(e program.Env, args []string) int {
	return robocopy.Run(robocopy.Streams{Out: e.Stdout, Err: e.Stderr}, args)
}
