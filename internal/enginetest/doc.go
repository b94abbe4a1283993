// Package enginetest is a stand-in for docker and podman, for machines that have
// neither: a command with as much of theirs as evalfarm uses, over a folder
// instead of a daemon.
//
// What it is faithful in is what can go wrong. A container is a process that does
// not end with the command that started it; it is there until it is removed by
// name; a variable without a value is taken from the environment of the command;
// errors have the words and the exit codes of the real ones. It isolates nothing.
//
// A test binary calls [Main] when it is started under the name of an engine, with
// the folder in DOCKER_CONFIG. [Daemon] is the other side: it makes images, reads
// what was asked, and breaks things.
package enginetest
