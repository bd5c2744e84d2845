// Package capture holds the packets of a network: tcpdump's ring of files and
// who reads it while it is written.
//
// tcpdump writes classic pcap, NAME.pcap0 to NAME.pcap9 in one folder, the oldest
// overwritten; NAME is the container whose network it is. A [Ring] lists the
// files of such a folder in the order in which they were captured, and takes
// whole copies of them, of one round of the ring each and ending with a whole
// packet, whatever tcpdump does meanwhile.
//
// A ring is read only, and may be by any number of goroutines and processes.
package capture
