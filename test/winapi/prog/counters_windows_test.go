package prog

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Statuses of pdh.dll (https://learn.microsoft.com/windows/win32/perfctrs/pdh-error-codes).
const (
	pdhMoreData    = 0x800007D2
	pdhNoObject    = 0xC0000BB8
	pdhNoCounter   = 0xC0000BB9
	pdhInvalidData = 0xC0000BBA
	pdhDouble      = 0x200
)

// rawCounter is PDH_RAW_COUNTER, formattedCounter PDH_FMT_COUNTERVALUE.
type rawCounter struct {
	status        uint32
	time          windows.Filetime
	first, second int64
	multi         uint32
}

type formattedCounter struct {
	status uint32
	value  float64
}

// item is an item of the arrays of pdh.dll.
type item[T any] struct {
	name  *uint16
	value T
}

// query is a query of performance counters; paths are added before it is collected.
type query struct {
	t        *testing.T
	handle   uintptr
	counters map[string]uintptr
}

func pdh(name string, args ...uintptr) uint32 {
	status, _, _ := windows.NewLazySystemDLL("pdh.dll").NewProc(name).Call(args...)
	return uint32(status)
}

// keptTexts keeps the texts whose addresses were given to Windows as numbers, which do not keep them.
var keptTexts []*uint16

func keptText(s string) uintptr {
	p := windows.StringToUTF16Ptr(s)
	keptTexts = append(keptTexts, p)
	return uintptr(unsafe.Pointer(p))
}

func newQuery(t *testing.T, paths ...string) *query {
	t.Helper()
	q := &query{t: t, counters: map[string]uintptr{}}
	if status := pdh("PdhOpenQueryW", 0, 0, uintptr(unsafe.Pointer(&q.handle))); status != 0 {
		t.Fatalf("PdhOpenQueryW: %#x", status)
	}

	t.Cleanup(func() { pdh("PdhCloseQuery", q.handle) })
	for _, path := range paths {
		var counter uintptr
		if status := q.add(path, &counter); status != 0 {
			t.Fatalf("add %s: %#x", path, status)
		}
		q.counters[path] = counter
	}

	q.collect()
	return q
}

func (q *query) add(path string, counter *uintptr) uint32 {
	return pdh("PdhAddEnglishCounterW", q.handle, keptText(path), 0, uintptr(unsafe.Pointer(counter)))
}

func (q *query) collect() {
	q.t.Helper()
	if status := pdh("PdhCollectQueryData", q.handle); status != 0 {
		q.t.Fatalf("PdhCollectQueryData: %#x", status)
	}
}

// array calls a function that fills an array of items for a counter, and returns the items by name.
func array[T any](q *query, function, path string, args ...uintptr) map[string]T {
	q.t.Helper()
	var size, count uint32
	call := func(buffer unsafe.Pointer) uint32 {
		all := append(append([]uintptr{q.counters[path]}, args...),
			uintptr(unsafe.Pointer(&size)), uintptr(unsafe.Pointer(&count)), uintptr(buffer))
		return pdh(function, all...)
	}

	if status := call(nil); status != pdhMoreData {
		q.t.Fatalf("%s of %s without a buffer: %#x", function, path, status)
	}
	buffer := make([]uint64, (size+7)/8)
	if status := call(unsafe.Pointer(&buffer[0])); status != 0 {
		q.t.Fatalf("%s of %s: %#x", function, path, status)
	}

	found := map[string]T{}
	for _, one := range unsafe.Slice((*item[T])(unsafe.Pointer(&buffer[0])), count) {
		found[windows.UTF16PtrToString(one.name)] = one.value
	}

	return found
}

func (q *query) raw(path string) map[string]rawCounter {
	q.t.Helper()
	return array[rawCounter](q, "PdhGetRawCounterArrayW", path)
}

// value returns the first raw value of an instance, which must be valid.
func (q *query) value(path, instance string) int64 {
	q.t.Helper()
	one, ok := q.raw(path)[instance]
	if !ok || one.status > 1 {
		q.t.Fatalf("%s of %q: found %t, status %#x", path, instance, ok, one.status)
	}
	return one.first
}

// proc reads a text of Linux' /proc; on Windows itself there is none to compare with.
func proc(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(`\\?\unix\proc\` + name)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, windows.ERROR_PATH_NOT_FOUND) {
		t.Skip("no Linux to compare with")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// line returns the numbers after a word that begins a line.
func line(t *testing.T, from, word string) []int64 {
	t.Helper()
	for one := range strings.Lines(from) {
		fields := strings.Fields(strings.Replace(one, ":", " ", 1))
		if len(fields) == 0 || fields[0] != word {
			continue
		}

		var numbers []int64
		for _, field := range fields[1:] {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				break
			}
			numbers = append(numbers, n)
		}

		return numbers
	}

	t.Fatalf("no line %s in:\n%s", word, from)
	return nil
}

func between(t *testing.T, what string, got, low, high int64) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s: got %d, want %d to %d", what, got, low, high)
	}
}

// TestProcessorCounters compares each processor's times and interrupts with those of the kernel before and after.
func TestProcessorCounters(t *testing.T) {
	const tick, slack = 100000, 200
	const (
		user, idle = `\Processor Information(*)\% User Time`, `\Processor Information(*)\% Idle Time`
		utility    = `\Processor Information(*)\% Processor Utility`
		busy       = `\Processor(*)\% Processor Time`
	)

	before := proc(t, "stat")
	q := newQuery(t, user, idle, utility, busy)
	after := proc(t, "stat")
	processors := strings.Count(before, "\ncpu")
	if got := len(q.raw(user)); got != processors+2 { // and 0,_Total and _Total
		t.Errorf("%d instances for %d processors", got, processors)
	}

	for i := range processors {
		a, b := line(t, before, fmt.Sprint("cpu", i)), line(t, after, fmt.Sprint("cpu", i))
		name := fmt.Sprint("0,", i)
		between(t, "user time of "+name, q.value(user, name)/tick, a[0]+a[1], b[0]+b[1])
		between(t, "idle time of "+name, q.value(idle, name)/tick, a[3]+a[4]-slack, b[3]+b[4]+slack)
	}

	sum := line(t, after, "cpu")
	average := (sum[3] + sum[4]) / int64(processors)
	between(t, "idle time of all", q.value(idle, "_Total")/tick, average-slack, average+slack)
	end := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(end) { // one processor works
	}

	q.collect()
	for name, one := range array[formattedCounter](q, "PdhGetFormattedCounterArrayW", busy, pdhDouble) {
		if one.status != 0 || one.value < 0 || one.value > 100 {
			t.Errorf("processor time of %s: %+v", name, one)
		}
		if name == "_Total" && one.value < 50/float64(processors) {
			t.Errorf("while a processor worked, all were used by %.1f %%", one.value)
		}
	}
}

func TestMemoryCounters(t *testing.T) {
	const (
		limit, bytes  = `\Memory(*)\Commit Limit`, `\Memory\Available Bytes`
		unused, cache = `\Memory\Free & Zero Page List Bytes`, `\Memory\Standby Cache Normal Priority Bytes`
		faults        = `\Memory\Page Faults/sec`
	)

	q := newQuery(t, limit, bytes, unused, cache, faults)
	info := proc(t, "meminfo")
	kilobytes := func(word string) int64 { return line(t, info, word)[0] * 1024 }
	total, swap, want := kilobytes("MemTotal"), kilobytes("SwapTotal"), kilobytes("MemAvailable")
	between(t, "commit limit", q.value(limit, ""), total+swap, total+swap)
	available, free := q.value(bytes, ""), q.value(unused, "")
	between(t, "available bytes", available, want-total/20, want+total/20)
	between(t, "free and standby", free+q.value(cache, ""), available, max(available, free))
	between(t, "page faults", q.value(faults, ""), 1, line(t, proc(t, "vmstat"), "pgfault")[0])
}

func TestNetworkCounters(t *testing.T) {
	const (
		received, sent = `\Network Interface(*)\Bytes Received/sec`, `\Network Interface(*)\Bytes Sent/sec`
		bandwidth      = `\Network Interface(*)\Current Bandwidth`
	)

	before := proc(t, `net\dev`)
	q := newQuery(t, received, sent, bandwidth)
	after := proc(t, `net\dev`)
	if _, ok := q.raw(received)["lo"]; ok {
		t.Error("the loopback is counted")
	}

	for name := range q.raw(received) {
		a, b := line(t, before, name), line(t, after, name)
		between(t, "received by "+name, q.value(received, name), a[0], b[0])
		between(t, "sent by "+name, q.value(sent, name), a[8], b[8])
		between(t, "bandwidth of "+name, q.value(bandwidth, name), 1000000, 1<<50)
	}
}

func TestDiskCounters(t *testing.T) {
	const free, share = `\LogicalDisk(*)\Free Megabytes`, `\LogicalDisk(*)\% Free Space`
	q := newQuery(t, free, share)
	var size, left uint64
	if err := windows.GetDiskFreeSpaceEx(windows.StringToUTF16Ptr(`C:\`), nil, &size, &left); err != nil {
		t.Fatal(err)
	}
	one := q.raw(share)["C:"]
	between(t, "size of C:", one.second, int64(size>>20), int64(size>>20))
	between(t, "free of C:", q.value(free, "C:"), int64(left>>20)-1024, int64(left>>20)+1024)
}

// sectorsRead adds up the bytes that a text of /proc/diskstats has for disks of the kinds sd, vd and hd.
func sectorsRead(t *testing.T, from string) (sum int64) {
	t.Helper()
	for one := range strings.Lines(from) {
		fields := strings.Fields(one)
		if len(fields) < 6 || !slices.Contains([]string{"sd", "vd", "hd"}, fields[2][:2]) ||
			strings.ContainsAny(fields[2], "0123456789") {
			continue
		}
		n, err := strconv.ParseInt(fields[5], 10, 64)
		if err != nil {
			t.Fatal(err)
		}

		sum += n * 512
	}

	return sum
}

func TestPhysicalDiskCounters(t *testing.T) {
	const reads = `\PhysicalDisk(*)\Disk Read Bytes/sec`
	before := sectorsRead(t, proc(t, "diskstats"))
	if before == 0 {
		t.Skip("no disk of the kinds sd, vd and hd has been read")
	}

	q := newQuery(t, reads)
	var sum int64
	for name := range q.raw(reads) {
		if name != "_Total" {
			sum += q.value(reads, name)
		}
	}

	between(t, "all disks", q.value(reads, "_Total"), sum, sum)
	if !strings.Contains(proc(t, "diskstats"), "nvme") {
		between(t, "bytes read", sum, before, sectorsRead(t, proc(t, "diskstats")))
	}
}

// TestProcessCounters looks at the test's own process.
func TestProcessCounters(t *testing.T) {
	end := time.Now().Add(100 * time.Millisecond)
	for time.Now().Before(end) { // so that there is some time of the processor
	}
	paths := map[string]string{}
	positive := []string{
		"Thread Count", "Handle Count", "Working Set", "Private Bytes", "Virtual Bytes", "% Processor Time",
	}

	for _, counter := range append([]string{"Process ID", "Creating Process ID", "Elapsed Time"}, positive...) {
		paths[counter] = `\Process V2(*)\` + counter
	}

	var all []string
	for _, path := range paths {
		all = append(all, path)
	}

	q := newQuery(t, append(all, `\System\Processes`, `\System\Threads`)...)
	own := fmt.Sprint("winapi:", os.Getpid())
	between(t, "process id", q.value(paths["Process ID"], own), int64(os.Getpid()), int64(os.Getpid()))
	between(t, "parent", q.value(paths["Creating Process ID"], own), int64(os.Getppid()), int64(os.Getppid()))
	started := q.raw(paths["Elapsed Time"])[own]
	between(t, "elapsed time", started.second-started.first, 1000000, 36000000000)
	for _, counter := range positive {
		between(t, counter, q.value(paths[counter], own), 1, 1<<46)
	}

	instances := int64(len(q.raw(paths["Process ID"])))
	between(t, "processes", q.value(`\System\Processes`, ""), instances-3, instances+3) // one is _Total
	between(t, "threads", q.value(`\System\Threads`, ""), instances-1, 1<<20)
}

// TestUnknownCounters shows that a counter that Windows has and that cannot be measured says so, and is not zero.
func TestUnknownCounters(t *testing.T) {
	const halted = `\Processor Information(*)\% C1 Time`
	q := newQuery(t, halted, `\Memory\Available Bytes`)
	proc(t, "stat") // Windows itself knows them
	for name, one := range q.raw(halted) {
		if one.status != pdhInvalidData {
			t.Errorf("%s of %s: status %#x, value %d", halted, name, one.status, one.first)
		}
	}

	for path, want := range map[string]uint32{
		`\No such object(*)\Anything`: pdhNoObject, `\Memory\No such counter`: pdhNoCounter,
		`\.NET CLR Memory(*)\# Bytes in all Heaps`: pdhNoObject,
	} {
		var counter uintptr
		if got := q.add(path, &counter); got != want {
			t.Errorf("add %s: %#x, want %#x", path, got, want)
		}
	}
}

// TestCounterLists asks for a counter's type, and which paths one with wild cards stands for.
func TestCounterLists(t *testing.T) {
	const path = `\System\System Up Time`
	q := newQuery(t, path)
	var size uint32
	ask := func(buffer *uint32) uint32 {
		return pdh("PdhGetCounterInfoW", q.counters[path], 0,
			uintptr(unsafe.Pointer(&size)), uintptr(unsafe.Pointer(buffer)))
	}

	if status := ask(nil); status != pdhMoreData {
		t.Fatalf("PdhGetCounterInfoW without a buffer: %#x", status)
	}
	info := make([]uint32, size/4+1)
	if status := ask(&info[0]); status != 0 {
		t.Fatalf("PdhGetCounterInfoW: %#x", status)
	}

	if info[1] != 0x30240500 { // PERF_ELAPSED_TIME of winperf.h
		t.Errorf("type %#x", info[1])
	}
	var base int64
	status := pdh("PdhGetCounterTimeBase", q.counters[path], uintptr(unsafe.Pointer(&base)))
	if status != 0 || base <= 0 {
		t.Fatalf("PdhGetCounterTimeBase: %#x, %d", status, base)
	}

	since := q.raw(path)[""]
	ticks := int64(windows.DurationSinceBoot() / time.Second)
	between(t, "up time", (since.second-since.first)/base, ticks-60, ticks+60)
	buffer := make([]uint16, 65536)
	size = uint32(len(buffer))
	status = pdh("PdhExpandWildCardPathW", 0, keptText(`\LogicalDisk(*)\Free Meg*`),
		uintptr(unsafe.Pointer(&buffer[0])), uintptr(unsafe.Pointer(&size)), 0)
	if status != 0 {
		t.Fatalf("PdhExpandWildCardPathW: %#x", status)
	}

	paths := strings.ToLower(string(utf16.Decode(buffer[:size])))
	if !strings.Contains(paths, `\logicaldisk(c:)\free megabytes`+"\x00") {
		t.Errorf("paths: %q", paths)
	}
}
