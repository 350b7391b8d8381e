package hcs

import "fmt"

// Code is an HRESULT.
type Code uint32

// The results of the Host Compute Service and of Windows that programs tell apart
// (https://learn.microsoft.com/virtualization/api/hcs/reference/hcshresult). As hcsshim has them, those of vmcompute's
// facility have the bits of an NTSTATUS
// (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.3/internal/hcs/v2/errors.go).
const (
	NotFound       Code = 0xc037010e // HCS_E_SYSTEM_NOT_FOUND
	AlreadyExists  Code = 0xc037010f // HCS_E_SYSTEM_ALREADY_EXISTS
	AlreadyStopped Code = 0xc0370110 // HCS_E_SYSTEM_ALREADY_STOPPED
	InvalidState   Code = 0xc0370105 // HCS_E_INVALID_STATE
	InvalidJSON    Code = 0xc037010d // HCS_E_INVALID_JSON
	ProcessStopped Code = 0x8037011f // HCS_E_PROCESS_ALREADY_STOPPED
	NoHypervisor   Code = 0x80370102 // HCS_E_HYPERV_NOT_INSTALLED

	NotImplemented Code = 0x80004001 // E_NOTIMPL
	Fail           Code = 0x80004005 // E_FAIL
	InvalidArg     Code = 0x80070057 // E_INVALIDARG
	NotSupported   Code = 0x80070032 // ERROR_NOT_SUPPORTED
	FileNotFound   Code = 0x80070002 // ERROR_FILE_NOT_FOUND
	PathNotFound   Code = 0x80070003 // ERROR_PATH_NOT_FOUND
	InvalidName    Code = 0x8007007b // ERROR_INVALID_NAME
	InUse          Code = 0x80070020 // ERROR_SHARING_VIOLATION
	AlreadyThere   Code = 0x800700b7 // ERROR_ALREADY_EXISTS
	NotReady       Code = 0x80070015 // ERROR_NOT_READY
	NoElement      Code = 0x80070490 // ERROR_NOT_FOUND
	LogonFailure   Code = 0x8007052e // ERROR_LOGON_FAILURE
	NoResources    Code = 0x800705aa // ERROR_NO_SYSTEM_RESOURCES
)

// Error is a refusal with the result that a program gets.
type Error struct {
	Code Code
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (0x%x)", e.Text, uint32(e.Code)) }

func refuse(code Code, format string, args ...any) error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// ofWindows returns the HRESULT of an error code of Windows.
func ofWindows(code uint32) Code { return Code(0x80070000 | code&0xffff) }
