// Package qemu boots virtual machines for pods: it knows which programs and files that takes and whether the machine
// has them, makes the guest's initial file system, and starts QEMU with virtiofsd beside it, both with as few rights as
// they can do with. It knows nothing of containers, and of networks only open TAP devices.
//
// The accelerator is KVM where a guest really boots with it, which the device /dev/kvm alone does not say, and QEMU's
// software emulation (TCG) elsewhere.
package qemu
