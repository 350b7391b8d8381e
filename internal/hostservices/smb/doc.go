// Package smb is the SMB client of a Windows host, in user space. Each mapping is a process of its own ("keep-share"),
// which holds the connection to a server and serves the share to the kernel by FUSE, so that it outlives the host's
// agent and the cluster's supervisor. The agent makes, lists and removes mappings; what is mounted is all its state.
//
// A share is mounted at <folder>/<server>/<share>, both in lower case. The host's Wine finds \\server\share there, by
// its link dosdevices/unc. Who reads and writes, to the server, is the mapping's user, whoever asks on the machine: so
// it is on Windows (https://learn.microsoft.com/windows-server/storage/file-server/smb-over-quic).
//
// A container that has a ticket of a domain has a process of its own ("keep-shares"), which serves the shares of all
// servers at its dosdevices/unc and connects each when it is looked up, as the container's account, from the
// container's network namespace. It reads the ticket that the node has put into the container, and has no other secret;
// so it serves on while the agent is away, and has the new ticket when the node has renewed it. It ends with the
// container's mounts.
package smb
