// Package proc owns one supervised child process as a part of a cluster: how it is started (on an OS thread of its own,
// in a network namespace if asked), how it is known to be ready, what happens to its output, how it is started again
// when it dies, and how it is ended. It also finds and ends what an earlier supervisor left behind. It does not know
// what the programs do, and makes no namespaces: a Starter does that.
//
//	       spawn           Ready ok            dies
//	idle ─────────▶ starting ─────────▶ running ─────────▶ backing-off ──▶ starting
//	                  │ dies, or Stop      │ Stop             │ NoRestart, or Restart.Never
//	                  ▼                    ▼                  ▼
//	                failed, stopped      stopped            failed
//
// # Threads and the parent-death signal
//
// PR_SET_PDEATHSIG is delivered when the thread that forked the child ends, not when its process does (prctl(2)). The
// Go runtime moves goroutines between threads and ends threads, so a child that was started from an ordinary goroutine
// may be killed at any time. Here each child is forked by a thread that is locked to one goroutine, which waits for
// that very child: the thread lives as long as the child, and ends before it only if the whole process ends, which is
// what the signal is for. The thread ends afterwards, so a Starter may move it into any namespaces and need not bring
// it back.
//
// # Pids
//
// A pid can be in use by another process by the time a signal is sent. Children are signalled and waited for through
// os.Process, which holds a pidfd (Go 1.23 and newer on Linux 5.4 and newer); leftovers through a pidfd that is opened
// before it is checked where the process is.
package proc
