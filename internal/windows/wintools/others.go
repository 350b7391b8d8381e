package wintools

import (
	"mullion.dev/mullion/internal/windows/wintools/curl"
	"mullion.dev/mullion/internal/windows/wintools/logmonitor"
	"mullion.dev/mullion/internal/windows/wintools/sc"
	"mullion.dev/mullion/internal/windows/wintools/tar"
)

func runLogMonitor(e Env, args []string) int {
	return logmonitor.Run(logmonitor.Streams{Out: e.Stdout, Err: e.Stderr}, logmonitor.ThisSystem(), args)
}

func runTar(e Env, args []string) int {
	return tar.Run(tar.Streams{In: e.Stdin, Out: e.Stdout, Err: e.Stderr}, args)
}

func runCurl(e Env, args []string) int {
	return curl.Run(curl.Streams{In: e.Stdin, Out: e.Stdout, Err: e.Stderr}, e.Getenv, args)
}

func runSC(e Env, args []string) int { return sc.Run(e.Stdout, e.System.Services(), args) }
