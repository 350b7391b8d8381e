package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/winstats"
)

// main prints the node's statistics, or, given counter paths, what pdh.dll says of each.
func main() {
	run := stats
	if len(os.Args) > 1 {
		run = func() error { return counter(os.Args[1:]) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stats prints the node statistics that the kubelet reports, by the kubelet's own code.
func stats() error {
	client, err := winstats.NewPerfCounterClient(klog.Background())
	if err != nil {
		return err
	}
	// The processor counter has whole percents, of which an idle machine has none: keep a processor busy meanwhile.
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	// the client measures at once and again every 10 s
	for end := time.Now().Add(25 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		metrics, err := client.WinContainerInfos()
		if err != nil {
			return err
		}
		root := metrics["/"]
		if len(root.Stats) == 0 || root.Stats[0].Memory.Usage == 0 || root.Stats[0].Cpu.Usage.Total == 0 {
			continue
		}
		return json.NewEncoder(os.Stdout).Encode(root.Stats[0])
	}
	return fmt.Errorf("no statistics came")
}

// counter asks pdh.dll about counter paths and prints the status each gets.
func counter(paths []string) error {
	validate := syscall.NewLazyDLL("pdh.dll").NewProc("PdhValidatePathW")
	for _, path := range paths {
		p, err := syscall.UTF16PtrFromString(path)
		if err != nil {
			return err
		}
		status, _, _ := validate.Call(uintptr(unsafe.Pointer(p)))
		fmt.Printf("%s 0x%08x\n", path, uint32(status))
	}
	return nil
}
