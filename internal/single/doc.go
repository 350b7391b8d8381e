// Package single owns Windows containers without a cluster: `mullion run` and `mullion container`. It has the engine
// process, which holds containerd, Windows' system layer and the containers that run, what is known of those and of
// others that have ended, and the client, which asks for a container and carries its streams. Both speak JSON over a
// Unix socket that only root reaches.
//
//	mullion run ──▶ socket ──▶ mullion run-engine ──▶ containerd ──▶ mullion-init ──▶ the program
//	     ▲                          │    ▲ │                                             │
//	     └──── FIFOs of a client ───┘    │ └──▶ log        FIFOs of its streams ◀────────┘
//	                                     └────────────────────────┘
//
// The engine is started by the first client and ends when no container has run, and nobody has asked it for anything,
// for a while. A container lives as long as its client's connection, unless it was asked to live on; then it lives as
// long as the engine. What is known of it is a checkpoint on disk:
//
//	asked for: created ── its program runs: running ── it has ended: exited, or with --rm gone
//
// Volumes are folders that outlive containers, each with a record: what a container has of them is in its checkpoint.
//
// An engine that begins finds those of an engine that was killed. What ran has ended with it.
//
// It does not own how a container is made (package engine), what its program gets of the image (package cri), images
// (package image), or the flags of the command line.
package single
