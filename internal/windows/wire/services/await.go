package services

import (
	"slices"
	"time"
)

// limits of waiting for a service that starts or stops: how often it is asked, and how long it may say nothing new. A
// service's wait hint is how long it wants to have, if that is longer.
const (
	askEvery = 50 * time.Millisecond
	patience = 30 * time.Second
)

// AwaitStop waits until a service that was told to stop has stopped, as Await does.
func AwaitStop(s Life) (Status, error) { return Await(s, Running, Paused, StopPending) }

// Await waits while a service is in one of some states, such as StartPending, and returns the state after that. It
// gives up, with the last state, when the service shows no progress for as long as it said that it needs.
func Await(s Life, pending ...uint32) (Status, error) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()

	since, last := time.Now(), uint32(0)
	for {
		is, err := s.Status()
		if err != nil || !slices.Contains(pending, is.State) {
			return is, err
		}

		if is.CheckPoint != last {
			since, last = time.Now(), is.CheckPoint
		}
		if time.Since(since) > max(patience, time.Duration(is.WaitHint)*time.Millisecond) {
			return is, nil
		}
		<-tick.C
	}
}
