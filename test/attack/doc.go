// Package attack is the suite of attacks: pods of Windows on a real cluster try to reach past their container, by
// system calls of Linux (prog), by links that they plant in their volumes, and over the network. An attack that gets
// anywhere fails the test. The same calls are made by the machine's root as well, where most must succeed, so that
// what is held is known to be an attack; and a neighbour pod has to answer all the time.
//
// Attacks on one part alone are tested beside that part: resources in test/cri, images in internal/runtime/image and
// test/image, paths in test/winapi, addresses and forwarding in internal/network.
package attack
