// Package capture holds the packets of a network: tcpdump's ring of files, what
// keeps it going, and who reads it while it is written.
//
// tcpdump writes classic pcap, NAME.pcap0 to NAME.pcap9 in one folder, the oldest
// overwritten; NAME is the container whose network it is. A [Recorder] runs
// tcpdump, counts what the kernel dropped, starts it again when it ends without
// overwriting what the ring still holds, and stops it so that the last packet
// that came is there, whole. It says how that goes in NAME.status.json, which
// [Check] reads.
//
// A [Ring] lists the files of such a folder in the order in which they were
// captured, and takes whole copies of them, of one round of the ring each and
// ending with a whole packet, whatever tcpdump does meanwhile. It may be used by
// any number of goroutines and processes, and only reads.
//
// A packet reaches its file within a second of the time at which it was
// captured, as the kernel hands packets on in blocks. What came before tcpdump
// listens, and while it is started again, is not captured.
package capture
