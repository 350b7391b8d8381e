// Package screen owns how a command's lines get to a person: cut and broken at the terminal's width, in colour where
// that is wanted, and, on a terminal, with a block of rows at the end that is drawn again and again. It knows nothing
// of what the lines say.
package screen
