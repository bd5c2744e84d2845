package main

import "golang.org/x/sys/unix"

// keepPrivate keeps what this process was started with from those who run as the same
// user: the kernel goes on showing it in /proc/PID/environ, and a command of record
// could look at its parent's.
func keepPrivate() { unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) } // PR_SET_DUMPABLE(2const): /proc/PID is then root's
