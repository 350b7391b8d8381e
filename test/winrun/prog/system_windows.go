package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// volume prints what Windows says of a drive: "C:\\", for example.
func volume(args []string) error {
	root, err := windows.UTF16PtrFromString(args[0])
	if err != nil {
		return err
	}
	label, system := make([]uint16, 64), make([]uint16, 64)
	var serial, longest, flags uint32
	if err := windows.GetVolumeInformation(root, &label[0], 64, &serial, &longest, &flags, &system[0], 64); err != nil {
		return fmt.Errorf("read volume information of %q: %w", args[0], err)
	}

	fmt.Printf("label %q\nsystem %s\nlongest %d\nserial %08x\n", windows.UTF16ToString(label),
		windows.UTF16ToString(system), longest, serial)
	var mine, all, free uint64
	if err := windows.GetDiskFreeSpaceEx(root, &mine, &all, &free); err != nil {
		return fmt.Errorf("read free space of %q: %w", args[0], err)
	}

	fmt.Printf("space %t\n", mine > 0 && mine <= all)
	drives, err := windows.GetLogicalDrives()
	if err != nil {
		return fmt.Errorf("list drives: %w", err)
	}
	names := make([]uint16, 256)
	if _, err := windows.GetLogicalDriveStrings(255, &names[0]); err != nil {
		return fmt.Errorf("list drive names: %w", err)
	}

	fmt.Printf("type %d\nnone %d\nc %t\n", windows.GetDriveType(root),
		windows.GetDriveType(windows.StringToUTF16Ptr(`Q:\`)), drives&4 != 0 &&
			strings.Contains(windows.UTF16ToString(names), `C:\`))
	info, err := os.Stat(args[0])
	if err != nil {
		return err
	}
	fmt.Printf("same %t\n", os.SameFile(info, info))
	return nil
}

// addresses prints the addresses of the network interfaces, asked for by several threads at once.
func addresses([]string) error {
	began := time.Now()
	texts, errs := make([]string, 4), make([]error, 4)
	var group sync.WaitGroup
	for i := range texts {
		group.Go(func() { texts[i], errs[i] = interfaceAddresses() })
	}

	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, text := range texts[1:] {
		if text != texts[0] {
			return fmt.Errorf("two threads see different addresses: %q and %q", texts[0], text)
		}
	}

	fmt.Print(texts[0])
	fmt.Fprintln(os.Stderr, "took", time.Since(began))
	return nil
}

func interfaceAddresses() (string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", err
	}

	var text strings.Builder
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil {
			return "", err
		}
		for _, a := range addrs {
			fmt.Fprintln(&text, "address", a)
		}
	}

	return text.String(), nil
}

// helperAPI calls functions of iphlpapi.dll that do not go by way of each other, and prints their results: 0, or 122
// for "the buffer is too small".
func helperAPI([]string) error {
	dll := windows.NewLazySystemDLL("iphlpapi.dll")
	buffer := make([]byte, 1<<18)
	call := func(name string, args ...uintptr) {
		code, _, _ := dll.NewProc(name).Call(args...)
		fmt.Println(name, code)
	}

	data, size := uintptr(unsafe.Pointer(&buffer[0])), uint32(len(buffer))
	length := uintptr(unsafe.Pointer(&size))
	call("GetAdaptersInfo", data, length)
	size = uint32(len(buffer))
	call("GetIpAddrTable", data, length, 0)
	size = uint32(len(buffer))
	call("GetIfTable", data, length, 0)
	size = uint32(len(buffer))
	call("GetIpForwardTable", data, length, 0)
	size = uint32(len(buffer))
	call("GetNetworkParams", data, length)
	size = uint32(len(buffer))
	call("GetExtendedTcpTable", data, length, 0, windows.AF_INET, 5, 0)
	size = uint32(len(buffer))
	call("GetExtendedUdpTable", data, length, 0, windows.AF_INET, 1, 0)
	call("GetNumberOfInterfaces", data)
	call("GetBestInterface", 0x0100007f, data)
	call("GetIpStatistics", data)
	call("GetTcpStatistics", data)
	call("GetIfTable2", data)
	call("GetUnicastIpAddressTable", windows.AF_INET, data)
	call("GetIpForwardTable2", windows.AF_INET, data)
	call("ConvertInterfaceIndexToLuid", 1, data)

	return nil
}

// openServices asks the service control manager for its database.
func openServices([]string) error {
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_ENUMERATE_SERVICE)
	if err != nil {
		return fmt.Errorf("open the service control manager: %w", err)
	}
	fmt.Println("open")
	return windows.CloseServiceHandle(manager)
}

// mountPoint prints the name of the volume that C: leads to.
func mountPoint([]string) error {
	name := make([]uint16, 64)
	if err := windows.GetVolumeNameForVolumeMountPoint(windows.StringToUTF16Ptr(`C:\`), &name[0], 64); err != nil {
		return fmt.Errorf("name the volume of C: %w", err)
	}
	fmt.Println(windows.UTF16ToString(name))
	return nil
}

// enterJob puts the process into a job whose limit is the priority class ABOVE_NORMAL.
func enterJob() error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	limits := windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
		LimitFlags:    windows.JOB_OBJECT_LIMIT_PRIORITY_CLASS,
		PriorityClass: windows.ABOVE_NORMAL_PRIORITY_CLASS,
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectBasicLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return err
	}
	return windows.AssignProcessToJobObject(job, windows.CurrentProcess())
}

// priority gives itself the priority class ABOVE_NORMAL, by a job or itself, and starts itself as "threads 3", with the
// priority class IDLE as "threads 4", and with HIGH as "threads 5".
func priority(args []string) error {
	set := func() error {
		return windows.SetPriorityClass(windows.CurrentProcess(), windows.ABOVE_NORMAL_PRIORITY_CLASS)
	}
	if args[0] == "job" {
		set = enterJob
	}
	if err := set(); err != nil {
		return err
	}

	exe, err := os.Executable()
	if err != nil {
		return err
	}

	for count, class := range map[string]uint32{"3": 0, "4": windows.IDLE_PRIORITY_CLASS, "5": windows.HIGH_PRIORITY_CLASS} {
		cmd := exec.Command(exe, "threads", count)
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: class}
		ready, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}

		if _, err := ready.Read(make([]byte, 8)); err != nil {
			return err
		}
	}

	fmt.Println("ready")
	time.Sleep(30 * time.Second)
	return nil
}

// threads says that it is ready when it has that many threads of the operating system.
func threads(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}

	var running sync.WaitGroup
	running.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			running.Done()
			time.Sleep(30 * time.Second)
		}()
	}

	running.Wait()
	fmt.Println("ready")
	time.Sleep(30 * time.Second)
	return nil
}

// size prints the columns and rows that the console's window has, again whenever they change, until it has printed as
// often as was asked for.
func size(args []string) error {
	times, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}

	screen, err := windows.CreateFile(windows.StringToUTF16Ptr("CONOUT$"), windows.GENERIC_READ|windows.GENERIC_WRITE,
		windows.FILE_SHARE_WRITE, nil,
		windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return fmt.Errorf("open the console: %w", err)
	}

	var last windows.SmallRect
	for range 1000 {
		var info windows.ConsoleScreenBufferInfo
		if err := windows.GetConsoleScreenBufferInfo(screen, &info); err != nil {
			return fmt.Errorf("read the size of the console: %w", err)
		}

		if info.Window != last {
			fmt.Printf("%d columns, %d rows\n", info.Window.Right-info.Window.Left+1,
				info.Window.Bottom-info.Window.Top+1)
			last = info.Window
			if times--; times == 0 {
				return nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}

	return errors.New("the size of the console did not change")
}
