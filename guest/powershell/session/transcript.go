package session

import (
	"io"
	"os"
)

// transcripts are the files into which goes what a session shows.
type transcripts struct{ files []*os.File }

// Transcribe writes what is shown from now on into a file too.
func (s *State) Transcribe(file *os.File) {
	all := Keep[transcripts](s)
	if all.files == nil {
		s.Closers = append(s.Closers, func() {
			for _, f := range all.files {
				f.Close()
			}
		})
	}
	all.files = append(all.files, file)
}

// Transcribed returns the file of the transcript that was begun last and now ends, which the caller closes; nil: none
// runs.
func (s *State) Transcribed() *os.File {
	all := Keep[transcripts](s)
	n := len(all.files)
	if n == 0 {
		return nil
	}
	last := all.files[n-1]
	all.files = all.files[:n-1]
	return last
}

// Shown returns a writer of the session's, what is written to which is in the transcripts as well.
func (s *State) Shown(w io.Writer) io.Writer { return shown{s, w} }

type shown struct {
	s *State
	w io.Writer
}

func (o shown) Write(p []byte) (int, error) {
	for _, f := range Keep[transcripts](o.s).files {
		if _, err := f.Write(p); err != nil {
			return 0, err
		}
	}
	return o.w.Write(p)
}
