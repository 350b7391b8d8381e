package initiator

import "fmt"

// refusal is an answer in Windows' words.
type refusal string

func (r refusal) Error() string { return string(r) }

func refused(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
