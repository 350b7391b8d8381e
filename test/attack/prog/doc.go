// Command prog tries, from where it runs, to reach past a container: each attack is one or a few system calls of Linux,
// made past Wine, as any program in a container can make them. It runs in a Windows container, where every attack has
// to be held, and as a Linux program of the machine's root in namespaces of its own, where most have to succeed: so it
// is known that the attacks are ones.
//
// Every attack is harmless where it succeeds: what it asks for is empty, is what is there already, or is refused for
// another reason than rights, with another error number.
package main
