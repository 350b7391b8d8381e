// Package winproc lists the processes of the Windows that the program runs on, and says how they were started.
package winproc

// Process is a running process.
type Process struct {
	ID    uint32
	Image string // the file name of its program, without the folder
}
