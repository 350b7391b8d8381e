package disks

import (
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// The numbers of refusals are those of https://learn.microsoft.com/windows-hardware/drivers/storage/msft-disk and the
// pages of its methods.

// ErrInUse says that a program or a container has a file or a folder of the volume open.
var ErrInUse = hostcall.Refusef(hostdisk.InUse,
	"The device or resource is in use: a program or a container has its volume.")
