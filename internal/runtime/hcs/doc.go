// Package hcs owns Windows' Host Compute Service for the programs of one Windows host: what a compute system and its
// processes are, the documents that they are made from, and the layers of their file systems. A compute system is a
// container of the engine; its first process is PID 1's program, later ones are run in the container. It knows neither
// the libraries by which programs call it nor the connections on which they do: package compute joins them.
//
//	Create           Start            Shut down, Terminate, or its first
//	──────▶ created ──────▶ running ─────────────────────────────────────▶ (gone)
//	                           │      process ends and somebody says so
//	                           ▼
//	                 process: running ──▶ exited
//
// The engine's container is made with the first process, which HCS documents do not name. Whoever has a compute system
// open holds it; one that asks for that ends when nobody does. A restart of the service ends none of
// them: records, the keeper of streams (package cri/stream) and the engine's shims have what the next one needs.
package hcs
