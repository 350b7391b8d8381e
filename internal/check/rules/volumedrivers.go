package rules

import (
	"slices"

	"mullion.dev/mullion/internal/check"
)

// csiDrivers says which CSI driver each volume type of cloud providers became. Kubernetes holds no code for them any
// more: 1.27 dropped the first one (Amazon's), 1.30 the last. The kubelet hands the volume to the driver on every
// system (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/volume/csimigration/plugin_manager.go), under the
// name that https://pkg.go.dev/k8s.io/csi-translation-lib/plugins gives it.
func csiDrivers() map[string]string {
	return map[string]string{
		"awsElasticBlockStore": "ebs.csi.aws.com",
		"azureDisk":            "disk.csi.azure.com",
		"azureFile":            "file.csi.azure.com",
		"gcePersistentDisk":    "pd.csi.storage.gke.io",
		"vsphereVolume":        "csi.vsphere.vmware.com",
	}
}

// volumeDrivers returns the rules about volumes whose code is no longer in the kubelet.
func volumeDrivers() []check.Rule {
	types := make([]string, 0, len(csiDrivers()))
	for t := range csiDrivers() {
		types = append(types, "spec.volumes[*]."+t)
	}

	slices.Sort(types)
	return []check.Rule{
		{
			ID:       "volume-csi-driver",
			Severity: check.Warning,
			Category: volumeCategory,
			Target:   check.OnPod,
			Since:    30,
			Title:    "this type of volume needs a CSI driver on the Windows nodes",
			Why:      "the kubelet hands it to the driver; on a node without the driver the pod waits in ContainerCreating",
			Remedy:   "install the driver with its DaemonSet for Windows, as the cloud's own clusters have it; better, name a StorageClass of the driver in a claim",
			Source: check.Source{
				Title: "Volumes: types of persistent volumes",
				URL:   "https://kubernetes.io/docs/concepts/storage/volumes/#volume-types",
			},
			Fields: types,
			Func: func(p *check.Pod) []check.Hit {
				var out []check.Hit
				for t, driver := range csiDrivers() {
					for _, v := range p.Values("spec.volumes[*]." + t) {
						v.At.Note = driver
						out = append(out, v.At)
					}
				}
				return out
			},
		},
		{
			ID:       "flex-volume-driver",
			Severity: check.Warning,
			Category: volumeCategory,
			Target:   check.OnPod,
			Title:    "this volume needs a FlexVolume driver on the Windows nodes",
			Why:      `the kubelet runs the driver, a program for Windows, from C:\usr\libexec\kubernetes\kubelet-plugins\volume\exec\VENDOR~DRIVER; on a node without it the pod waits in ContainerCreating, and FlexVolume has been deprecated since 1.23`,
			Remedy:   "use a CSI driver with a node plugin for Windows, such as that for SMB; or put the driver's program on each Windows node",
			Source: check.Source{
				Title: "Volumes: flexVolume",
				URL:   "https://kubernetes.io/docs/concepts/storage/volumes/#flexvolume",
			},
			Fields: []string{"spec.volumes[*].flexVolume", "spec.volumes[*].flexVolume.driver"},
			Func: func(p *check.Pod) []check.Hit {
				var out []check.Hit
				for _, v := range p.Values("spec.volumes[*].flexVolume") {
					v.At.Note = v.Node.Get("driver").Text()
					out = append(out, v.At)
				}
				return out
			},
		},
		{
			ID:       "image-volume",
			Severity: check.Error,
			Category: volumeCategory,
			Target:   check.OnPod,
			Title:    "Windows nodes have no image volumes",
			Why:      "Kubernetes' tests of them are for Linux alone, \"since Windows does not support image volumes\", and Mullion's nodes refuse the container",
			Remedy:   "copy the files into an emptyDir in an init container of that image",
			Source: check.Source{
				Title: "kubernetes: the tests of image volumes",
				URL:   "https://github.com/kubernetes/kubernetes/blob/v1.37.1/test/e2e/common/node/image_volume.go",
			},
			Match: []check.Match{present("spec.volumes[*].image")},
		},
		{
			ID:       "volume-git-repo",
			Severity: check.Error,
			Category: volumeCategory,
			Target:   check.OnPod,
			Since:    33,
			Title:    "gitRepo volumes are switched off",
			Why:      "since Kubernetes 1.33 the kubelet does not set them up: the pod waits in ContainerCreating",
			Remedy:   "clone into an emptyDir in an init container",
			Source: check.Source{
				Title: "Volumes: gitRepo",
				URL:   "https://kubernetes.io/docs/concepts/storage/volumes/#gitrepo",
			},
			Match: []check.Match{present("spec.volumes[*].gitRepo")},
		},
	}
}
