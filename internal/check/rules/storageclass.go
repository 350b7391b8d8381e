package rules

import (
	"slices"
	"strings"

	"mullion.dev/mullion/internal/check"
)

// claims returns the rules about pods, the claims that they mount, and the claims' classes.
func claims() []check.Rule {
	return []check.Rule{
		{
			ID:       "claim-block",
			Severity: check.Error,
			Category: volumeCategory,
			Target:   check.OnInput,
			Source:   volumeStorage(),
			Fields:   []string{"PersistentVolumeClaim:spec.volumeMode"},
			Title:    "a pod for Windows mounts this claim, which is for a raw block device",
			Why:      "Windows nodes do not map block devices",
			Remedy:   "use volumeMode Filesystem",
			Cross: onClaims(func(claim, _ *check.Fact) (*check.Fact, []check.Hit) {
				return claim,
					at(claim, "volumeMode", "Block")
			}),
		},
		{
			ID:       "storage-class-fs",
			Severity: check.Error,
			Category: volumeCategory,
			Target:   check.OnInput,
			Source:   volumeStorage(),
			Fields:   []string{"StorageClass:parameters"},
			Title:    "a pod for Windows mounts a volume of this class, and Windows cannot read the class's file system",
			Why:      "Windows has no such file system; volumes are NTFS there",
			Remedy:   "make a class of its own for Windows with this parameter set to ntfs",
			Cross: onClaims(func(_, class *check.Fact) (*check.Fact, []check.Hit) {
				if class == nil {
					return nil, nil
				}
				return class, slices.Concat(
					at(class, "parameters[csi.storage.k8s.io/fstype]", linuxFS()...),
					at(class, "parameters[fsType]", linuxFS()...), at(class, "parameters[fstype]", linuxFS()...))
			}),
		},
		{
			ID:       "storage-class-nfs",
			Severity: check.Error,
			Category: volumeCategory,
			Target:   check.OnInput,
			Source:   volumeStorage(),
			Fields:   []string{"StorageClass:provisioner"},
			Title:    "a pod for Windows mounts a volume of this class, and the class's driver works on Linux nodes only",
			Why:      "NFS and Ceph clients for volumes are part of Linux",
			Remedy:   "use SMB or a block volume for Windows",
			Cross: onClaims(func(_, class *check.Fact) (*check.Fact, []check.Hit) {
				if class == nil {
					return nil, nil
				}
				return class, hits(class.Values("provisioner"), func(text string) string {
					for _, part := range []string{
						"nfs", "cephfs.csi.ceph.com", "rbd.csi.ceph.com", "efs.csi.aws.com",
						"glusterfs",
					} {
						if strings.Contains(text, part) {
							return text
						}
					}

					return ""
				})
			}),
		},
	}
}

func linuxFS() []string { return []string{"ext2", "ext3", "ext4", "xfs", "btrfs"} }

// onClaims turns a condition on the claims that pods for Windows mount into a Cross. class is nil if the input does not
// have it.
func onClaims(find func(claim, class *check.Fact) (*check.Fact, []check.Hit)) func(*check.Input) []check.CrossHit {
	return func(in *check.Input) []check.CrossHit {
		var out []check.CrossHit
		seen := map[*check.Fact]bool{}
		for _, p := range in.Pods {
			if p.OS != check.Windows {
				continue
			}

			for _, name := range p.Values("volumes[*].persistentVolumeClaim.claimName") {
				claim := in.Named("PersistentVolumeClaim", p.Object.Namespace, name.Node.Text())
				if claim == nil {
					continue
				}
				on, hs := find(claim, in.Named("StorageClass", "", claim.Spec.Get("storageClassName").Text()))
				if len(hs) == 0 || seen[on] {
					continue
				}

				seen[on] = true
				for _, h := range hs {
					out = append(out, check.CrossHit{Fact: on, Hit: h})
				}
			}
		}

		return out
	}
}
