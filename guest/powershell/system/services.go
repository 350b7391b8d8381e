package system

import "errors"

// Service is a service of Windows. start is when it is started: Automatic, Manual or Disabled.
type Service struct{ Name, Display, Status, Start string }

// ServiceChange is what New-Service and Set-Service ask for; what is empty stays as it is.
type ServiceChange struct {
	Name, Display, Description, Start string
	Binary                            string // the command line of a new service
	Needs                             []string
}

// ErrHasDependents is the error of stopping a service that others need.
var ErrHasDependents = errors.New("it has dependent services, which only -Force stops too")
