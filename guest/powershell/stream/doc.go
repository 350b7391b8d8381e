// Package stream has streams of bytes, what reads and writes text in them, and the encodings of text.
package stream
