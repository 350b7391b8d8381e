// Package guest owns virtual machines with an ordinary distribution: it makes their disks from the distribution's
// packages (debootstrap, mke2fs), boots them in qemu by software emulation with the distribution's own kernel, and runs
// commands in them over SSH. What is tried in them it does not know.
//
// Nothing needs hardware virtualisation or an image from elsewhere. What was made is kept in a cache folder and used
// again until its recipe changes; a guest writes to a snapshot of its own, which ends with it.
package guest
