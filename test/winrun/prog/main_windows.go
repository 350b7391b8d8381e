package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	verbs := map[string]func(args []string) error{
		"args":       printArgs,
		"env":        printEnv,
		"exit":       exitWith,
		"call":       callFunctions,
		"signal":     waitSignal,
		"allocate":   allocate,
		"features":   features,
		"spawn":      spawn,
		"pairs":      spawnPairs,
		"modules":    modules,
		"sleep":      sleep,
		"threads":    threads,
		"priority":   priority,
		"size":       size,
		"unread":     unread,
		"volume":     volume,
		"backup":     backup,
		"addrs":      addresses,
		"mountpoint": mountPoint,
		"iphlpapi":   helperAPI,
		"services":   openServices,
		"service":    serve,
		"stdhandle":  standardHandle,
		"waitinput":  waitForInput,
		"listening":  listening,
		"etw":        writeEvents,
		"window":     window,
	}

	run, ok := verbs[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "no verb %q\n", os.Args[1])
		os.Exit(2)
	}
	if err := run(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// printArgs prints the arguments, the program's own file and the working directory as JSON.
func printArgs(args []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"args": args, "exe": exe, "dir": dir})
}

func printEnv(names []string) error {
	for _, name := range names {
		fmt.Printf("%s=%s\n", name, os.Getenv(name))
	}
	return nil
}

// callFunctions calls functions, named LIBRARY!FUNCTION, with zeros, and says so on both of its outputs.
func callFunctions(names []string) error {
	for _, name := range names {
		library, function, _ := strings.Cut(name, "!")
		proc := syscall.NewLazyDLL(library).NewProc(function)
		if err := proc.Find(); err != nil {
			return err
		}
		fmt.Println("calling", name)
		_, _, _ = proc.Call(0, 0, 0, 0)
		fmt.Fprintln(os.Stderr, "called", name)
	}
	return nil
}

// exitWith ends the process with a 32-bit code that os.Exit would pass on just so.
func exitWith(args []string) error {
	code, err := strconv.ParseUint(args[0], 0, 32)
	if err != nil {
		return err
	}
	syscall.ExitProcess(uint32(code))
	return nil
}

// waitSignal says that it is ready, and then which signal the Go run time reports.
func waitSignal([]string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	fmt.Println("ready")
	select {
	case sig := <-signals:
		fmt.Println("got", sig)
		syscall.ExitProcess(42)
	case <-time.After(30 * time.Second):
	}
	return fmt.Errorf("no signal came")
}

// allocate commits memory in blocks of 1 MiB, writing to each, until Windows refuses or the wanted number is reached.
func allocate(args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}

	kernel32 := syscall.NewLazyDLL("kernel32.dll").NewProc("VirtualAlloc")
	for n := range want {
		const block, commitReserve, readWrite = 1 << 20, 0x3000, 4
		p, _, errno := kernel32.Call(0, block, commitReserve, readWrite)
		if p == 0 {
			fmt.Printf("refused after %d MiB: %v\n", n, errno)
			return nil
		}
		for i := uintptr(0); i < block; i += 4096 {
			*(*byte)(unsafe.Add(nil, p+i)) = 1 // memory of VirtualAlloc, not Go's
		}
	}

	fmt.Printf("got %d MiB\n", want)
	return nil
}

// features prints what the prefix was told about the machine.
func features([]string) error {
	kernel32 := syscall.NewLazyDLL("kernel32.dll")
	present := kernel32.NewProc("IsProcessorFeaturePresent")
	for _, feature := range []uintptr{10, 13, 23, 38} { // SSE2, SSE3, fast fail, SSE4.2
		yes, _, _ := present.Call(feature)
		fmt.Printf("feature %d %d\n", feature, yes)
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	data := (*[0x1000]byte)(unsafe.Add(nil, 0x7ffe0000)) // KUSER_SHARED_DATA
	fmt.Printf("hostname %s\nmajor %d\ncpus %d\n", host, data[0x26c], data[0x3c0])
	return nil
}

// spawn starts a copy of this program that sleeps, tells its process number and ends, so that the copy is left behind.
func spawn([]string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	process, err := os.StartProcess(exe, []string{exe, "sleep"}, &os.ProcAttr{})
	if err != nil {
		return err
	}
	fmt.Println("spawned", process.Pid)
	return nil
}

// spawnPairs starts programs in pairs, two at a time: one that writes to this program's output and ends, and one
// without input and output, which stays.
func spawnPairs(args []string) error {
	pairs, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}

	for range pairs {
		writes, stays := exec.Command(exe, "env"), exec.Command(exe, "sleep")
		writes.Stdout, writes.Stderr = os.Stdout, os.Stderr
		failed := make(chan error)
		go func() { failed <- stays.Start() }()
		if err := errors.Join(writes.Run(), <-failed); err != nil {
			return err
		}
	}

	fmt.Println("started", pairs)
	return nil
}

func sleep([]string) error {
	fmt.Println("ready")
	time.Sleep(30 * time.Second)
	return nil
}

// modules prints which of the named libraries are loaded.
func modules(names []string) error {
	handle := syscall.NewLazyDLL("kernel32.dll").NewProc("GetModuleHandleW")
	for _, name := range names {
		p, err := syscall.UTF16PtrFromString(name)
		if err != nil {
			return err
		}
		state := "absent"
		if h, _, _ := handle.Call(uintptr(unsafe.Pointer(p))); h != 0 {
			state = "loaded"
		}
		fmt.Println(name, state)
	}
	return nil
}

// listening listens on an address while it runs a program, and prints the lines of the program that have the address.
func listening(args []string) error {
	server, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	defer server.Close()
	out, err := exec.Command(args[1], args[2:]...).Output()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, args[0]) {
			fmt.Print(line)
		}
	}
	return err
}
