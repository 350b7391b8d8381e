// Package guest owns virtual machines with an ordinary distribution: it makes their disks from the distribution's
// packages (debootstrap, mke2fs), boots them in qemu by software emulation with the distribution's own kernel, and runs
// commands in them over SSH. It does not know what is tried in them.
//
// Nothing needs hardware virtualisation or an image from elsewhere. Disks are kept in a cache folder and used again
// until their recipe changes. A guest writes only to a snapshot of its own, which ends with it.
package guest
