//go:build !windows

package text

import "errors"

// ThisScreen returns none: the programs are Windows programs.
func ThisScreen() Screen { return nowhere{} }

type nowhere struct{}

func (nowhere) Size() (columns, rows int) { return 0, 0 }
func (nowhere) Key() (rune, error)        { return 0, errors.ErrUnsupported }
