//go:build !windows

package console

import "time"

// ThisSystem returns a System without a console: the programs are Windows programs.
func ThisSystem() System { return nowhere{} }

type nowhere struct{}

func (nowhere) Key(time.Duration) (rune, error) { return 0, ErrNoConsole }
func (nowhere) CodePage() (uint32, error)       { return 0, ErrNoConsole }
func (nowhere) SetCodePage(uint32) error        { return ErrNoConsole }
