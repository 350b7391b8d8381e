// Command e2eimages prints the images that Kubernetes' e2e tests ask for and that Mullion has stand-ins for, one a
// line. Mullion's own tests compare its stand-ins with these.
package main

import (
	"fmt"

	"k8s.io/kubernetes/test/utils/image"
)

func main() {
	for _, id := range []image.ImageID{
		image.Agnhost, image.AgnhostPrev, image.BusyBox, image.Nginx, image.NginxNew, image.NonRoot, image.Pause,
		image.GlibcDnsTesting, image.ResourceConsumer, image.Kitten, image.Nautilus,
	} {
		fmt.Println(image.GetE2EImage(id))
	}
}
