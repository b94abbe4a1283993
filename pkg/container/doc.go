// Package container runs MCP servers in containers, by the command line of
// docker or podman.
//
// An [Engine] is such a command: it finds and fetches images, and removes what a
// dead worker has left. A [Container] is one start of a server: an argument
// vector for the engine, whose standard streams are the server's, and an end.
//
// The engine's command is no more than the line to the server: killing it does
// not stop the container. So a container has a name, and is removed by it when
// the command has ended, whatever ended it ([Container.End]); its labels say
// whose it is, so that [Engine.Sweep] finds it when its worker was killed.
//
// There is no init process beside the server: with one, a program that is not in
// the image would look like a server that ends at once, and podman has none unless
// one more package is installed.
//
// What is in a container is hostile. It has no network unless the suite gives it
// one, no capabilities, no way to more privileges, no log that could fill a disk,
// a bound on its processes, and sees the mounts that the suite names. Its root file
// system can be written and is thrown away. Escapes from the kernel's own
// isolation are the engine's matter.
package container
