// Package attack is the suite of attacks: pods of Windows on a real cluster try to reach past their container, by
// system calls of Linux (prog), by links that they plant in their volumes, over the network, and by all that a node
// writes to its disk for them; and they starve it, by taking all they get of what the machine's programs share. An
// attack that gets anywhere fails the test. The same calls are made by the machine's root as well, where most must
// succeed, so that what is held is known to be an attack; and a neighbour pod has to answer all the time.
//
// Two more attack parts of a node without a cluster, in the rung kernel: images attack what loads and pulls them, with
// a control for each, an unpacker that believes all it reads or the same image without its lie; and pods spoof, on the
// switches of Windows nodes and on Linux nodes, and for control on a plain bridge and on a node without our rules.
//
// Attacks on one part alone are tested beside that part: resources in test/cri, paths in test/winapi, forwarding and
// machines' tunnels in internal/network.
package attack
