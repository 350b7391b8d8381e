// Package winhost owns a Windows host as a set of Linux namespaces: mount, PID and UTS namespaces around a network
// namespace that somebody else pins. It starts the host's first process, which holds them together, and starts programs
// inside. It knows neither the kubelet nor the files of the host, and makes no network.
//
//	          StartInit           Ready
//	(nothing) ─────────▶ booting ───────▶ up ─────────▶ (nothing)
//	                                          init dies: the kernel kills every process of the host
//
// # The first process
//
// `mullion-node host-init` (Init) is PID 1 of the host. It is started in the machine's mount namespace with
// CLONE_NEWNS, NEWPID and NEWUTS, sets the host's name, changes its root, waits for orphans, and does nothing else. It
// gets SIGKILL when the thread that started it ends, and all of the host with it.
//
// # The root
//
// Programs of the host are the machine's root, and a pod may plant links in their way. So they see another root than
// the machine's: a read-only tmpfs with the machine's /usr read-only, an /etc of a few files, and the folders that the
// host shares with the machine, above all its Wine prefix.
//
// # Programs inside
//
// A child joins the host because the thread that forks it has joined before. PR_SET_PDEATHSIG cannot be used for such a
// child: Go compares getppid with the parent's pid after setting it, and getppid answers 0 across PID namespaces, so
// the child would kill itself. It is not needed either: the host's first process has it.
package winhost
