# Runs in the root of a guest after setup.sh: SELinux enforces Debian's policy, and every file has its label.
sed -i 's/^SELINUX=.*/SELINUX=enforcing/; s/^SELINUXTYPE=.*/SELINUXTYPE=default/' /etc/selinux/config
# As programs below /opt have it: the disk with Mullion's comes without labels. Debian's policy lets no mount that systemd
# starts give a file system such a label, and the machine would come up in emergency mode: root, who logs in, mounts it.
sed -i 's|/opt/mullion ext4 ro|&,noauto,context=system_u:object_r:bin_t:s0|' /etc/fstab
# Last, as sed writes a file anew, without a label: what starts systemd may not read such an fstab.
setfiles -F -e /proc -e /sys -e /dev -e /tmp -e /var/cache/apt/archives /etc/selinux/default/contexts/files/file_contexts /
