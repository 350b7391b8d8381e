// Package services owns the way to the service control manager: what a service is, what it is asked for, and the errors
// in Windows' numbers and words. It knows nothing of what prints services (guest/tools/sc and net, and the cmdlets),
// and nothing of the manager itself, which is Wine's services.exe.
//
// The numbers are those of winsvc.h (https://learn.microsoft.com/windows/win32/api/winsvc/).
package services

// Manager is the service control manager of the Windows that the program runs on. Its errors are Codes.
type Manager interface {
	// List lists services of some types and states (StateActive, StateInactive), in the manager's order. A group, if
	// it is not nil, is the load order group that they are in.
	List(types, states uint32, group *string) ([]Service, error)
	// Create makes a service.
	Create(name string, c Change) error
	// Open opens a service with some rights.
	Open(name string, rights uint32) (Handle, error)
	// DisplayName is the name of a service that people see.
	DisplayName(name string) (string, error)
	// KeyName is the name of the service that is shown by another name.
	KeyName(display string) (string, error)
}

// Handle is an open service.
type Handle interface {
	Life
	Settings
	Texts
	Close() error
}

// Life is how a service runs.
type Life interface {
	Status() (Status, error)
	Start(args []string) error
	// Control sends a control code, and returns the service's state after it. The state is valid beside some errors.
	Control(code uint32) (Status, error)
	Delete() error
	// Dependents are the services that need this one, in the order in which they are to be stopped.
	Dependents(states uint32) ([]Service, error)
}

// Settings are how a service is configured.
type Settings interface {
	Config() (Config, error)
	Change(c Change) error
	Failure() (Failure, error)
	SetFailure(f Failure) error
}

// Texts are a service's description, and the settings that are one number (LevelDelayed, LevelFailureFlag).
type Texts interface {
	Description() (string, error)
	Describe(text string) error
	Number(level uint32) (uint32, error)
	SetNumber(level, value uint32) error
}

// Service is a service of a list.
type Service struct {
	Name, Display string
	Status        Status
}

// Status is SERVICE_STATUS_PROCESS. WaitHint is in milliseconds.
type Status struct {
	Type, State, Accepts, Exit, ServiceExit, CheckPoint, WaitHint, PID, Flags uint32
}

// Config is QUERY_SERVICE_CONFIG. A name in Needs that begins with + is that of a load order group.
type Config struct {
	Type, Start, ErrorControl, Tag  uint32
	Binary, Group, Account, Display string
	Needs                           []string
}

// Change is what is asked for when a service is made or changed. A nil stays as it is, as does NoChange.
type Change struct {
	Type, Start, ErrorControl                 uint32
	Binary, Group, Account, Password, Display *string
	// Needs are the services that are needed; empty and not nil: none.
	Needs []string
}

// Failure is what is done when a service fails. Reset is the time in seconds without a failure after which failures
// are counted from the beginning. What is nil stays as it is; Reset does if Actions is nil.
type Failure struct {
	Reset           uint32
	Reboot, Command *string
	Actions         []Action
}

// Action is SC_ACTION. Delay is in milliseconds.
type Action struct{ Type, Delay uint32 }

// Types of services.
const (
	KernelDriver     = 0x1
	FileSystemDriver = 0x2
	Adapter          = 0x4
	RecognizerDriver = 0x8
	Driver           = KernelDriver | FileSystemDriver | RecognizerDriver
	OwnProcess       = 0x10
	ShareProcess     = 0x20
	Win32            = OwnProcess | ShareProcess
	Interactive      = 0x100
)

// States of services.
const (
	Stopped = iota + 1
	StartPending
	StopPending
	Running
	ContinuePending
	PausePending
	Paused
)

// States that List and Dependents can be asked for.
const (
	StateActive   = 1
	StateInactive = 2
	StateAll      = StateActive | StateInactive
)

// What a service accepts.
const (
	AcceptStop        = 0x1
	AcceptPause       = 0x2
	AcceptShutdown    = 0x4
	AcceptPreShutdown = 0x100
)

// When a service is started.
const (
	StartBoot = iota
	StartSystem
	StartAuto
	StartDemand
	StartDisabled
)

// What is done if a service cannot be started with the machine.
const (
	ErrorIgnore = iota
	ErrorNormal
	ErrorSevere
	ErrorCritical
)

// NoChange is a number of Change that stays as it is.
const NoChange = 0xffffffff

// Control codes.
const (
	ControlStop        = 1
	ControlPause       = 2
	ControlContinue    = 3
	ControlInterrogate = 4
)

// Actions after a failure.
const (
	ActionNone = iota
	ActionRestart
	ActionReboot
	ActionRun
)

// Levels of Texts.Number.
const (
	LevelDelayed     = 3
	LevelFailureFlag = 4
)

// Rights to a service.
const (
	QueryConfig  = 0x1
	ChangeConfig = 0x2
	QueryStatus  = 0x4
	EnumerateDep = 0x8
	StartRight   = 0x10
	StopRight    = 0x20
	PauseRight   = 0x40
	Interrogate  = 0x80
	UserControl  = 0x100
	DeleteRight  = 0x10000
)
