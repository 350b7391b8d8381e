package spec

import (
	"cmp"
	"fmt"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/windows/winver"
)

// OwnPauseImage is the pause image that Mullion makes of upstream's pause.exe and wincat.exe.
const OwnPauseImage PauseImage = "mullion.local/pause:v1"

// PauseImage is a reference of the image that the pods' pause containers are made of: OwnPauseImage, or one of a
// registry, as containerd has it in its configuration (sandbox_image).
type PauseImage string

// imageForm matches references of images: registry or folder, name, tag, digest
// (https://github.com/distribution/reference/blob/v0.6.0/reference.go).
var imageForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*` +
	`(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)

// valid names the fault of the reference on a node of that version of Windows, "" without one.
func (p PauseImage) valid(windowsVersion string) string {
	if p == "" {
		return ""
	}
	if !imageForm.MatchString(string(p)) {
		return fmt.Sprintf("%q is not a reference of an image; Mullion's own is %s", string(p), OwnPauseImage)
	}
	build, err := winver.Lookup(cmp.Or(windowsVersion, winver.Default()))
	if err == nil && !build.Supports(winver.SharedNetwork) {
		return fmt.Sprintf("%s lets no two containers share a network, so its pods have no pause container beside their own",
			build.Name)
	}
	return ""
}
