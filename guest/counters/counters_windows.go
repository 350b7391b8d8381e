package counters

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// The numbers of pdhmsg.h and pdh.h that calls take and give.
const (
	moreData = Status(0x800007D2)

	formatDouble, noCap100 = 0x200, 0x8000
)

func call(name string, args ...uintptr) error {
	rc, _, _ := windows.NewLazySystemDLL("pdh.dll").NewProc(name).Call(args...)
	if rc = rc & 0xffffffff; rc != 0 {
		return Status(rc)
	}
	return nil
}

// Expand returns the counters that a path with wild cards means, those of the machine itself.
func (System) Expand(path string) ([]string, error) {
	text, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, BadPath
	}

	size := uint32(0)
	for range 8 { // instances come and go between the calls
		list := make([]uint16, size+1)
		err := call("PdhExpandWildCardPathW", 0, uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(&list[0])),
			uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errors.Is(err, moreData):
			continue
		case err != nil:
			return nil, err
		case size == 0:
			return nil, nil
		}
		return texts(list[:min(int(size), len(list))]), nil
	}
	return nil, moreData
}

// texts returns the texts of a list that ends with an empty one.
func texts(list []uint16) []string {
	var all []string
	for len(list) > 0 && list[0] != 0 {
		one := windows.UTF16ToString(list)
		all = append(all, one)
		list = list[min(len(list), len(windows.StringToUTF16(one))):]
	}
	return all
}

// query is a query of pdh.dll.
type query struct {
	handle   uintptr
	counters []counter
}

type counter struct {
	path   string
	handle uintptr
}

// Open begins to read counters. Paths have no wild cards.
func (System) Open(paths []string) (Query, error) {
	q := &query{}
	if err := call("PdhOpenQueryW", 0, 0, uintptr(unsafe.Pointer(&q.handle))); err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := windows.UTF16PtrFromString(path)
		if err != nil {
			return nil, errors.Join(BadPath, q.Close())
		}
		c := counter{path: path}
		err = call("PdhAddEnglishCounterW", q.handle, uintptr(unsafe.Pointer(text)), 0, uintptr(unsafe.Pointer(&c.handle)))
		if err != nil {
			return nil, errors.Join(err, q.Close())
		}
		q.counters = append(q.counters, c)
	}
	return q, nil
}

// Close ends the query.
func (q *query) Close() error { return call("PdhCloseQuery", q.handle) }

// Collect reads the counters.
func (q *query) Collect() ([]Sample, error) {
	if err := call("PdhCollectQueryData", q.handle); err != nil {
		return nil, err
	}

	now := time.Now()
	var all []Sample
	for _, c := range q.counters {
		s := Sample{Path: c.path, At: now}
		var formatted struct { // PDH_FMT_COUNTERVALUE
			status uint32
			value  float64
		}
		err := call("PdhGetFormattedCounterValue", c.handle, formatDouble|noCap100, uintptr(unsafe.Pointer(&s.Type)),
			uintptr(unsafe.Pointer(&formatted)))
		if !errors.As(err, &s.Status) {
			s.Status = valid(formatted.status)
		}
		s.Cooked = formatted.value

		var raw struct { // PDH_RAW_COUNTER
			status        uint32
			at            [2]uint32
			first, second int64
			count         uint32
		}
		if call("PdhGetRawCounterValue", c.handle, 0, uintptr(unsafe.Pointer(&raw))) == nil {
			s.Raw, s.Second, s.Count = raw.first, raw.second, raw.count
		}
		all = append(all, s)
	}
	return all, nil
}

// valid returns the status of a value: PDH_CSTATUS_NEW_DATA is one that is valid, too.
func valid(status uint32) Status {
	if status == 1 {
		return 0
	}
	return Status(status)
}
