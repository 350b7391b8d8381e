// Package single owns Windows containers without a cluster: `mullion run`. It has the engine process, which holds
// containerd, Windows' system layer and the containers that run, and the client, which asks for a container and carries
// its streams. Both speak JSON over a Unix socket that only root reaches.
//
//	mullion run ──▶ socket ──▶ mullion run-engine ──▶ containerd ──▶ mullion-init ──▶ the program
//	     ▲                                                                               │
//	     └──────────────────────────── FIFOs of its streams ◀────────────────────────────┘
//
// The engine is started by the first client and ends when nobody has asked it for anything for a while. A container
// lives as long as its client's connection.
//
// It does not own how a container is made (package engine), what its program gets of the image (package cri), images
// (package image), or the flags of the command line.
package single
