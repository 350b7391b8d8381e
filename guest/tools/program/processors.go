package program

// Processors are kinds of processors, LOGICAL_PROCESSOR_RELATIONSHIP
// (https://learn.microsoft.com/windows/win32/api/winnt/ne-winnt-logical_processor_relationship).
type Processors uint32

// The kinds that are counted.
const (
	Cores    Processors = 0
	Packages Processors = 3
)
