// Package netlog is the network log: JSON Lines, one object a line, that say
// what went over the wire. FORMAT.md describes the lines, schema.json checks
// them.
//
// A proxy writes through a [Writer]: Open gives an exchange or a tunnel its id,
// End closes it, and in between come Answer and Message. Lines are numbered from
// 1 without a gap or a repeat, across restarts. Whoever answers a question
// about the traffic reads the same file, while it is written or later:
//
//   - [Log] and [Scanner] go through a whole log in order and look only at the
//     beginning of each line; [Log.ReadLine] and [ParseLine], or a [Parser] for
//     many, fetch one.
//   - [Check] holds a log against the format.
//   - [Reader] gives the lines after a number in pages, and waits for new ones.
//
// A number once given is in the file sooner or later, unless the process is
// killed first. What can't be written in time (a full or hanging disk) does not
// hold up the traffic for ever: it is counted, and the log says so itself.
//
// The package does not decode bodies, judge headers or know who writes. It
// builds on flock(2) and O_APPEND: a log belongs on a local file system.
package netlog
