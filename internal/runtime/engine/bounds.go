package engine

import "strconv"

// Bound says what keeps the containers of Windows nodes from using up something that all programs of a machine share.
// SECURITY.md has the rows as a table.
type Bound struct {
	// What is shared.
	What string
	// Pod is how much a pod may have, and All how much all pods of the machine together.
	Pod, All string
	// By is what keeps the bound.
	By string
}

// MostConnections is how many connections to the node's own ports a pod's address may hold, as the node's network has
// it (dataplane.MostOfPod).
const MostConnections = "64"

const (
	counted  = "its memory"
	ownUsers = "each pod has users of its own"
)

// Bounds returns all bounds.
func Bounds() []Bound {
	tasks, terminals := strconv.Itoa(mostTasks), mostTerminals[len("max="):]
	return []Bound{
		{"memory", "what its containers that run may have together; none if one of them has no limit", "nine tenths of the machine's for a node's pods, or the node's `memory`", "cgroup"},
		{"processes and threads", tasks, "70 % of the machine's for the nodes", "cgroup"},
		{"`/tmp`, `/dev/shm`, `/run`", counted, "", "size of `tmpfs`"},
		{"bytes in sockets of TCP and UDP, not yet read", "a quarter of what the machine's may hold before Linux keeps " +
			"them short, and " + counted, "three quarters of that", "cgroup v1: `memory.kmem.tcp.limit_in_bytes`; " +
			"cgroup v2 counts them as memory"},
		{
			"answers in sockets of netlink and ping, not yet read", strconv.Itoa(MostUnread>>20) + " MiB; a pod that has more " +
				"is ended", "as many times that",
			"a look twice a second at each pod, and at each container of the Host Compute Service",
		},
		{"bytes in Unix sockets and pipes", counted, "", "Linux counts them as memory"},
		{
			"terminals", terminals + " for each container, 64 on a Linux node", "3,072; 1,024 are left to the machine",
			"`max` of devpts, `kernel.pty.reserve`",
		},
		{"descriptors under way in Unix sockets", "as many as a process may have open", ownUsers, "ranges of users"},
		{
			"connections to the ports of the node's own programs", MostConnections + " for each address", "as many times that",
			"nftables counts them in the node's network",
		},
		{"pages of pipes beyond two for each pipe", "`fs.pipe-user-pages-soft`", ownUsers, "ranges of users"},
		{"watches of epoll", "`fs.epoll.max_user_watches`, and " + counted, ownUsers, "ranges of users"},
		{
			"inotify", "8 instances, 8,192 watches for each container; fanotify: none", "what root has of them",
			"`user.max_inotify_*`",
		},
		{"timers and signals that wait", tasks, ownUsers, "`RLIMIT_SIGPENDING`"},
		{"System V's semaphores, messages and memory", counted, "", "an IPC namespace of its own"},
		{"POSIX message queues", "none", "none", "`RLIMIT_MSGQUEUE`"},
		{"keys of the kernel, its asynchronous I/O, io_uring", "none", "none", "seccomp"},
		{"huge pages, filters that the kernel compiles, labels of IPv6's flows, cores kept from others, merged memory", "none", "none", "seccomp"},
		{"programs of the machine that take core files", "none", "none", "`RLIMIT_CORE` of 1 (preflight warns where it cannot be set), seccomp"},
		{"writing out the machine's file systems (`sync`)", "none", "none", "seccomp"},
		{"locks of files", counted, "", "Linux counts them as memory"},
		{
			"turns to start programs, while those of the pod do not come up", "one in ten seconds, after others'", "one place of the node",
			"the node's order of starts",
		},
	}
}
