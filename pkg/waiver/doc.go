// Package waiver reads the files in which people take cases and rules out of a gate,
// and says which of their waivers somebody has approved.
//
// A waiver is approved by an SSH signature of [Text], its canonical text, by somebody
// whom a file of allowed signers knows, as `ssh-keygen -Y verify` would decide it
// (PROTOCOL.sshsig and ssh-keygen(1) of OpenSSH); or by being, word for word, in the
// same file on a protected branch. Which of the two counts is the caller's to say:
// this package opens no file and starts no program.
//
// Everything here is hostile: a file that comes with a change under review is exactly
// what a waiver must not trust.
package waiver
