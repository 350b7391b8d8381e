package events

import (
	"errors"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// watched is what a FileSystemWatcher asks for unless a script says otherwise, and the attributes and sizes with it.
const watched = windows.FILE_NOTIFY_CHANGE_FILE_NAME | windows.FILE_NOTIFY_CHANGE_DIR_NAME |
	windows.FILE_NOTIFY_CHANGE_LAST_WRITE | windows.FILE_NOTIFY_CHANGE_SIZE | windows.FILE_NOTIFY_CHANGE_ATTRIBUTES

// bufferSize is how much of changes one call takes: below it more is lost, above it a share of a network takes none.
const bufferSize = 64 << 10

// watch tells of what changes in a folder until stop is called. fails gets an error, and whether nothing comes after
// it.
func watch(folder string, below bool, tell func([]change), fails func(error, bool)) (stop func(), err error) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return nil, err
	}
	handle, err := windows.CreateFile(name, windows.FILE_LIST_DIRECTORY,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OVERLAPPED, 0)
	if err != nil {
		return nil, err
	}
	ended, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return nil, errors.Join(err, windows.CloseHandle(handle))
	}

	w := &watching{handle: handle, ended: ended, below: below}
	if err := w.ask(); err != nil {
		return nil, errors.Join(err, windows.CloseHandle(handle), windows.CloseHandle(ended))
	}
	go w.read(tell, fails)
	return w.stop, nil
}

// watching is a folder that is watched.
type watching struct {
	handle, ended windows.Handle
	below         bool
	mu            sync.Mutex
	over          bool                   // ended is set, or closed: its handle may be another one's by now
	buffer        [bufferSize / 4]uint32 // a record begins at a multiple of 4
	overlapped    windows.Overlapped
}

// ask has Windows gather changes from now on: what comes before the next call is kept for that.
func (w *watching) ask() error {
	if w.overlapped.HEvent == 0 {
		event, err := windows.CreateEvent(nil, 1, 0, nil)
		if err != nil {
			return err
		}
		w.overlapped.HEvent = event
	}
	return windows.ReadDirectoryChanges(w.handle, (*byte)(unsafe.Pointer(&w.buffer[0])), bufferSize, w.below, watched,
		nil, &w.overlapped, 0)
}

// stop ends read.
func (w *watching) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.over = true
		_ = windows.SetEvent(w.ended) // it is this process's own
	}
}

func (w *watching) read(tell func([]change), fails func(err error, over bool)) {
	defer func() {
		_ = windows.CancelIoEx(w.handle, &w.overlapped) // what it waits for comes no more
		var done uint32
		_ = windows.GetOverlappedResult(w.handle, &w.overlapped, &done, true)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over = true
		_ = windows.CloseHandle(w.handle)
		_ = windows.CloseHandle(w.ended)
		_ = windows.CloseHandle(w.overlapped.HEvent)
	}()
	for {
		either := []windows.Handle{w.ended, w.overlapped.HEvent}
		which, err := windows.WaitForMultipleObjects(either, false, windows.INFINITE)
		if err != nil || which == windows.WAIT_OBJECT_0 {
			return
		}
		var n uint32
		if err := windows.GetOverlappedResult(w.handle, &w.overlapped, &n, false); err != nil {
			fails(err, true)
			return
		}

		changes := records(unsafe.Slice((*byte)(unsafe.Pointer(&w.buffer[0])), n))
		if n == 0 {
			fails(errors.New("Too many changes at once in directory."), false) //nolint:staticcheck,revive // .NET's words
		}
		if err := w.ask(); err != nil {
			fails(err, true)
			return
		}
		tell(changes)
	}
}
