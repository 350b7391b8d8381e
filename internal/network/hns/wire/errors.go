package wire

import "fmt"

// HRESULT is a Windows result code; negative as a signed number means an error.
type HRESULT uint32

// The results that HNS gives: winerror.h (Windows SDK 10.0.26100), also in golang.org/x/sys/windows zerrors_windows.go.
const (
	OK                     HRESULT = 0
	ENotFound              HRESULT = 0x80070490 // ERROR_NOT_FOUND: what opening an unknown object gives
	EInvalidArg            HRESULT = 0x80070057
	EHandle                HRESULT = 0x80070006 // ERROR_INVALID_HANDLE
	EAccessDenied          HRESULT = 0x80070005
	EInvalidData           HRESULT = 0x8007000d
	ESharingViolation      HRESULT = 0x80070020 // ERROR_SHARING_VIOLATION: a program of the host has the port
	EBadLength             HRESULT = 0x80070018
	EAlreadyExists         HRESULT = 0x800700b7 // ERROR_ALREADY_EXISTS
	EUnavailable           HRESULT = 0x800706ba // RPC_S_SERVER_UNAVAILABLE: the service is stopped
	EFail                  HRESULT = 0x80004005
	ENotImpl               HRESULT = 0x80004001
	NetworkNotFound        HRESULT = 0x803b0001
	EndpointNotFound       HRESULT = 0x803b0002
	SubnetNotFound         HRESULT = 0x803b0005
	AdapterNotFound        HRESULT = 0x803b0006
	InvalidNetwork         HRESULT = 0x803b000a
	InvalidNetworkType     HRESULT = 0x803b000b
	InvalidEndpoint        HRESULT = 0x803b000c
	InvalidPolicy          HRESULT = 0x803b000d
	InvalidPolicyType      HRESULT = 0x803b000e
	InvalidRemoteOperation HRESULT = 0x803b000f
	NetworkAlreadyExists   HRESULT = 0x803b0010
	PolicyAlreadyExists    HRESULT = 0x803b0012
	PortAlreadyExists      HRESULT = 0x803b0013
	EndpointAttached       HRESULT = 0x803b0014
	RequestUnsupported     HRESULT = 0x803b0015
	InvalidJSON            HRESULT = 0x803b001b
	InvalidIP              HRESULT = 0x803b001e
	ICSDisabled            HRESULT = 0x803b002a
	EntityHasReferences    HRESULT = 0x803b002c
	NamespaceAttachFailed  HRESULT = 0x803b002e
	AddrInvalidOrReserved  HRESULT = 0x803b002f
)

// texts are Windows' messages for results.
func texts() map[HRESULT]string {
	return map[HRESULT]string{
		ESharingViolation:      "The process cannot access the file because it is being used by another process. ",
		ENotFound:              "Element not found. ",
		EInvalidArg:            "The parameter is incorrect. ",
		EHandle:                "The handle is invalid. ",
		EAccessDenied:          "Access is denied. ",
		EInvalidData:           "The data is invalid. ",
		EUnavailable:           "The RPC server is unavailable. ",
		EAlreadyExists:         "Cannot create a file when that file already exists. ",
		EBadLength:             "The program issued a command but the command length is incorrect. ",
		ENotImpl:               "Not implemented ",
		NetworkNotFound:        "The network was not found. ",
		EndpointNotFound:       "The endpoint was not found. ",
		SubnetNotFound:         "The subnet was not found. ",
		AdapterNotFound:        "An adapter was not found. ",
		InvalidNetwork:         "The network is invalid. ",
		InvalidNetworkType:     "The network type is invalid. ",
		InvalidEndpoint:        "The endpoint is invalid. ",
		InvalidPolicy:          "The policy is invalid. ",
		InvalidPolicyType:      "The policy type is invalid. ",
		InvalidRemoteOperation: "This requested operation is invalid for a remote endpoint. ",
		NetworkAlreadyExists:   "A network already exists with this name. ",
		PolicyAlreadyExists:    "The specified policy already exists. ",
		PortAlreadyExists:      "The specified port already exists. ",
		EndpointAttached:       "The endpoint is already attached to the switch. ",
		RequestUnsupported:     "The specified request is unsupported. ",
		InvalidJSON:            "Invalid JSON document string. ",
		InvalidIP:              "IP address is either invalid or not part of any configured subnet(s). ",
		ICSDisabled:            "Internet Connection Sharing service (SharedAccess) is disabled and cannot be started ",
		EntityHasReferences:    "The entity cannot be deleted because it is referenced by another entity. ",
		NamespaceAttachFailed:  "The endpoint could not be attached to the namespace. ",
		AddrInvalidOrReserved:  "The specified address is invalid or reserved. ",
	}
}

func (h HRESULT) text() string {
	if s, ok := texts()[h]; ok {
		return s
	}
	return "Unspecified error "
}

// Error is a result with the message that HNS returns beside it.
type Error struct {
	Code   HRESULT
	Detail string // what in the request caused it, for people
}

// Errorf makes an Error.
func Errorf(code HRESULT, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Error is for logs.
func (e *Error) Error() string {
	return fmt.Sprintf("%s(0x%08x): %s", e.Code.text(), uint32(e.Code), e.Detail)
}

// Is matches an Error of the same code, so that errors.Is works with &Error{Code: …}.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Text returns Windows' message followed by the detail, as HNS itself appends it
// (https://github.com/microsoft/Windows-Containers/issues/93).
func (e *Error) Text() string {
	if e.Detail == "" {
		return e.Code.text()
	}
	return e.Code.text() + e.Detail
}
