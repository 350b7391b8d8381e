// Package stream owns the standard streams of containers: the keeper, a process of its own that reads them, writes the
// log files and serves those who attach; and the client by which the CRI server talks to it. It does not own exec and
// port-forward, which end with their connection.
//
// Why a process of its own: containers must live on while the CRI server is killed and started again, and nothing they
// write meanwhile may be lost. The shim of containerd connects a container's streams to FIFOs. A FIFO's content is gone
// when the last one who has it open is gone, so if the CRI server read them itself, the last words of a container that
// ends while the server is down would be lost, and so would the beginning of a line that the server had already read. A
// logging program started by the shim (containerd's binary:// scheme) would be safe too, but knows neither input nor
// attach and costs a process for each container. One keeper for all containers of a Windows host outlives the server,
// has all FIFOs open and holds half-read lines. If the keeper itself is killed, the shims keep the FIFOs of running
// containers open, and the next keeper, which the server starts as soon as the connection by which it watches the
// keeper breaks, goes on reading; only a half-read line and, of a container that ends in that moment, the last words
// are lost. What the keeper has to say of streams, it holds, and tells the server that watches it.
//
//	container ─ pipe ─▶ shim ─ FIFO ─▶ keeper ─▶ log file
//	                                     ▲ └───▶ attached clients
//	               CRI server ── socket ─┘
package stream
