package volume

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// ThisSystem is the system of this process.
func ThisSystem() System { return local{} }

type local struct{}

// Volume implements System.
func (local) Volume(root string) (Volume, error) {
	name, err := windows.UTF16PtrFromString(root)
	if err != nil {
		return Volume{}, err
	}
	var label, system [windows.MAX_PATH + 1]uint16
	var v Volume
	err = windows.GetVolumeInformation(name, &label[0], uint32(len(label)), &v.Serial, nil, nil,
		&system[0], uint32(len(system)))
	v.Label, v.FileSystem = windows.UTF16ToString(label[:]), windows.UTF16ToString(system[:])
	return v, err
}

// SetLabel implements System.
func (local) SetLabel(root, label string) error {
	name, err := windows.UTF16PtrFromString(root)
	if err != nil {
		return err
	}
	text, err := windows.UTF16PtrFromString(label)
	if err != nil {
		return err
	}

	set := windows.NewLazySystemDLL("kernel32.dll").NewProc("SetVolumeLabelW")
	done, _, err := set.Call(uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(text)))
	if done == 0 {
		return err
	}
	return nil
}
