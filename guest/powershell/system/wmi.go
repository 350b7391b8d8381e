package system

import "mullion.dev/mullion/guest/wmi"

// WMIObject is an instance of a class of Windows Management Instrumentation.
type WMIObject = wmi.Object

// Errors of WMI, in its words.
var (
	ErrWMIClass     = wmi.ErrClass
	ErrWMINamespace = wmi.ErrNamespace
	ErrWMIQuery     = wmi.ErrQuery
)
